# Prints the head of the script that sources this, if --help is asked for.
case "${1:-}" in
-h | --help)
  sed -n '2,/^[^#]/s/^# \{0,1\}//p' "${BASH_SOURCE[0]%/*}/${0##*/}"
  exit
  ;;
esac
