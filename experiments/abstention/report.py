"""E"""


def write(o, f):
    return ""
