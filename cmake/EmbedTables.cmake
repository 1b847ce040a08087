# cmake -DFILES=a.json;b.json -DOUT=file.inc -P EmbedTables.cmake
# One `{"stem", R"table(...)table"},` a file, for an array initialiser.
set(text "")
foreach(file IN LISTS FILES)
  # Not NAME_WE, which cuts at the first dot: names hold version numbers.
  get_filename_component(stem ${file} NAME_WLE)
  file(READ ${file} content)
  string(APPEND text "{\"${stem}\", R\"table(${content})table\"},\n")
endforeach()
file(WRITE ${OUT} "${text}")
