"""Windows of convolutions and pools."""


def window(a, rank, kernel, size):
    """Strides, dilations, begins and ends of pads."""
    strides, dilations = a.get("strides") or [1] * rank, a.get("dilations") or [1] * rank
    pads = a.get("pads") or [0] * (2 * rank)
    auto = a.get("auto_pad", "NOTSET")
    if auto.startswith("SAME"):
        total = [max((-(-d // s) - 1) * s + (k - 1) * e + 1 - d, 0)
                 for d, s, k, e in zip(size, strides, kernel, dilations)]
        half = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
        pads = half + [t - h for t, h in zip(total, half)]
    elif auto == "VALID":
        pads = [0] * (2 * rank)
    return strides, dilations, pads[:rank], pads[rank:]
