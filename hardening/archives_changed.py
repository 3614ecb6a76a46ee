"""Changes to zip archives: what they hold, and what their list of contents says of it."""

import io
import struct
import zipfile

import numpy as np

NAMES = (
    "../../x.npy", "/etc/passwd", "C:\\x.npy", "..\\x.npy", "a/b.npy", "./logits.npy", "logits.npy/", "", "\0.npy",
    "logits.npy\0.txt", "\u202eypn.x", "x" * 60_000, "con.npy", "head.json", "classes.npy", "字.npy", ".npy", "run.py",
)  # fmt: skip
METHODS = (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)
VAST = 100 * 2**30
CENTRAL, LOCAL = b"PK\x01\x02", b"PK\x03\x04"


def members_of(content: bytes) -> dict[str, bytes]:
    """The files in an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members: list[tuple[str, bytes]], method: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these files, of which two may have one name."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members:
            member = zipfile.ZipInfo(name)
            member.compress_type = method
            if name in archive.NameToInfo:
                del archive.NameToInfo[name]  # or zipfile warns
            archive.writestr(member, data)
    return file.getvalue()


def changed_archive(content: bytes, rng: np.random.Generator) -> bytes:
    """An archive with other, more or fewer files, or packed in another way."""
    members = list(members_of(content).items())
    place = int(rng.integers(len(members)))
    name, data = members[place]
    way = rng.integers(8)
    if way == 0:
        members[place] = (NAMES[rng.integers(len(NAMES))], data)
    elif way == 1:
        members.append((NAMES[rng.integers(len(NAMES))], data))
    elif way == 2:
        del members[place]
    elif way == 3:
        members.append((name, data))
    elif way == 4:
        members = [members[one] for one in rng.permutation(len(members))]
    elif way == 5:
        members[place] = (name, members[rng.integers(len(members))][1])
    elif way == 6:
        members += [(f"a{number}.npy", b"") for number in range(int(rng.choice([60, 500, 5_000])))]
    method = METHODS[rng.integers(3)] if way == 7 else zipfile.ZIP_STORED
    archived = packed(members, method)
    return relabelled(archived, rng) if rng.integers(3) == 0 else archived


def relabelled(content: bytes, rng: np.random.Generator) -> bytes:
    """An archive whose list of contents says something else: sizes, places, flags, methods, checksums."""
    changed = bytearray(content)
    signature = CENTRAL if rng.integers(4) else LOCAL
    places = _places(content, signature)
    if not places:
        return content
    place = places[rng.integers(len(places))]
    start = place + (0 if signature == CENTRAL else -2)  # the fields of both are the same, two bytes apart
    way = rng.integers(7)
    if way == 0:  # sizes
        size = int(rng.choice([0, 1, 2**20, 2**31 - 1, 2**31, 2**32 - 2, 2**32 - 1]))
        both = rng.integers(2)
        changed[start + 24 : start + 28] = struct.pack("<L", size)
        if both:
            changed[start + 20 : start + 24] = struct.pack("<L", size)
    elif way == 1:
        changed[start + 8 : start + 10] = struct.pack("<H", int(rng.choice([1, 8, 2**6, 2**11, 2**13, 2**16 - 1])))
    elif way == 2:
        changed[start + 10 : start + 12] = struct.pack("<H", int(rng.choice([1, 8, 9, 12, 14, 93, 99, 2**16 - 1])))
    elif way == 3:
        changed[start + 16 : start + 20] = rng.integers(256, size=4, dtype=np.uint8).tobytes()
    elif way == 4 and signature == CENTRAL:  # all members are one
        other = places[rng.integers(len(places))]
        changed[place + 42 : place + 46] = content[other + 42 : other + 46]
    elif way == 5 and signature == CENTRAL:
        changed[place + 42 : place + 46] = struct.pack("<L", int(rng.choice([0, 1, len(content), 2**31, 2**32 - 1])))
    else:  # the end record: how many members, how long the list, where it begins, how long the comment
        end = content.rindex(b"PK\x05\x06")
        field, size = ((8, 2), (10, 2), (12, 4), (16, 4), (20, 2))[rng.integers(5)]
        value = int(rng.choice([0, 1, 64, 2**16 - 1, 2**31, 2**32 - 1])) % 2 ** (8 * size)
        changed[end + field : end + field + size] = value.to_bytes(size, "little")
    return bytes(changed)


def _places(content: bytes, signature: bytes) -> list[int]:
    places, place = [], content.find(signature)
    while place >= 0:
        places.append(place)
        place = content.find(signature, place + 1)
    return places


def claiming(content: bytes, name: str, size: int = VAST) -> bytes:
    """An archive whose list of contents claims that a file in it has 100 GB, in fields of 64 bits."""
    end = content.rindex(b"PK\x05\x06")
    *counts, length, start, comment = struct.unpack("<4H2LH", content[end + 4 : end + 22])
    place = next(one for one in _places(content, CENTRAL) if content[one + 46 :].startswith(name.encode()))
    entry = bytearray(content[place:])
    name_size, extra_size = struct.unpack("<2H", entry[28:32])
    extra = struct.pack("<2H2Q", 1, 16, size, size)
    entry[20:28] = b"\xff" * 8
    entry[30:32] = struct.pack("<H", extra_size + len(extra))
    entry[46 + name_size : 46 + name_size] = extra
    changed = bytearray(content[:place] + bytes(entry))
    end += len(extra)
    changed[end + 4 : end + 22] = struct.pack("<4H2LH", *counts, length + len(extra), start, comment)
    return bytes(changed)
