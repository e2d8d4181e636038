"""The actions of the bridge on a file system of fsspec, one function each."""

import datetime

from bridge_wire import DATA, HEAD, PAGE, PIECE, to_json

PAGE_LENGTH = 500
# A range of up to this many bytes is read in one request, because a file opened with fsspec would read more than that.
SHORT_RANGE = 1024 * 1024


def time_of(info):
    """Returns milliseconds since 1970, or None. File systems use different names for the time."""
    names = ["mtime", "LastModified", "last_modified", "modified", "updated", "modificationTime", "modifiedTime"]
    for name in [*names, "modified_at", "time", "created"]:
        value = info.get(name)
        if isinstance(value, str):
            try:
                value = datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
            except ValueError:
                continue
        if isinstance(value, datetime.datetime):
            if value.tzinfo is None:
                value = value.replace(tzinfo=datetime.timezone.utc)
            return int(value.timestamp() * 1000)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return int(value if value > 1e11 else value * 1000)
    return None


def etag_of(info, size, time):
    for name in ["ETag", "etag", "md5Hash", "content_md5", "sha", "checksum", "content_hash", "generation"]:
        value = info.get(name)
        if isinstance(value, (bytes, bytearray)):
            return bytes(value).hex()
        if isinstance(value, (str, int)) and value:
            return str(value).strip('"')
    return "" if time is None else f"{time:x}-{size:x}"


def entry_of(info):
    size = int(info.get("size") or 0)
    time = time_of(info)
    kind = "directory" if info.get("type") == "directory" else "file"
    return {"size": size, "time": time, "etag": etag_of(info, size, time), "type": kind}


def do_info(place, fs, call, request):
    fs.invalidate_cache()
    return entry_of(fs.info(place.path(request["key"])))


def do_ls(place, fs, call, request):
    fs.invalidate_cache()
    path = place.path(request["key"])
    try:
        found = fs.ls(path, detail=True)
    except (FileNotFoundError, NotADirectoryError):
        return None
    own = path.strip("/")
    entries = [named for named in (named_entry(info, own) for info in found) if named]
    for start in range(0, len(entries), PAGE_LENGTH):
        call.stream(PAGE, to_json(entries[start : start + PAGE_LENGTH]))


def named_entry(info, own):
    full = info["name"].strip("/")
    # The listing of a file contains the file itself, and that of a folder may contain the folder's marker. Both are
    # left out, and so are links to folders, which may form a cycle.
    if full == own or info.get("type") not in ("file", "directory"):
        return None
    if info["type"] == "directory" and info.get("islink"):
        return None
    name = full.rsplit("/", 1)[-1]
    try:
        name.encode()
    except UnicodeEncodeError:
        return None
    return None if name in ("", ".", "..") else {"name": name, **entry_of(info)}


def do_read(place, fs, call, request):
    path = place.path(request["key"])
    fs.invalidate_cache()
    entry = entry_of(fs.info(path))
    if entry["type"] == "directory":
        raise IsADirectoryError(path)
    start = min(request["start"], entry["size"])
    wanted = request["end"]
    end = max(start, entry["size"] if wanted is None else min(wanted, entry["size"]))
    call.output.send_json(HEAD, call.number, {**entry, "start": start, "end": end})
    if end - start <= SHORT_RANGE:
        send_bytes(call, fs.cat_file(path, start=start, end=end) if end > start else b"", end - start)
    else:
        send_file(call, fs, path, start, end)


def send_file(call, fs, path, start, end):
    with fs.open(path, "rb") as file:
        file.seek(start)
        while start < end:
            call.check()
            piece = file.read(min(PIECE, end - start))
            if not piece:
                raise EOFError(f"{path} ended {end - start} bytes too early")
            start += len(piece)
            call.stream(DATA, piece)


def send_bytes(call, content, length):
    if len(content) != length:
        raise EOFError(f"got {len(content)} bytes of {length}")
    for at in range(0, length, PIECE):
        call.stream(DATA, content[at : at + PIECE])


def do_write(place, fs, call, request):
    """Writes a file. Object stores show it only when it is complete; elsewhere, a temporary file is renamed."""
    target = place.path(request["key"])
    if not place.folders:
        return write_object(fs, call, target)
    temporary = beside(target, request["beside"])
    make_folder_of(fs, target)
    if fs.isdir(target):
        raise IsADirectoryError(target)
    size = 0
    try:
        with fs.open(temporary, "wb") as file:
            if hasattr(file, "set_pipelined"):
                # Otherwise, each write over SFTP would wait for its answer.
                file.set_pipelined(True)
            for piece in call.sent_pieces():
                file.write(piece)
                size += len(piece)
        call.check()
        move(fs, temporary, target)
    except BaseException:
        remove_quietly(fs, temporary)
        raise
    return written_entry(fs, target, size)


def beside(path, name):
    parent, slash, _ = path.rpartition("/")
    return parent + slash + name


def write_object(fs, call, target):
    file = fs.open(target, "wb", autocommit=False)
    size = 0
    try:
        for piece in call.sent_pieces():
            file.write(piece)
            size += len(piece)
        file.close()
        call.check()
        file.commit()
    except BaseException:
        # Marked as closed, so that closing does not write the rest of the buffer.
        file.closed = True
        discard_quietly(file)
        raise
    return written_entry(fs, target, size)


def discard_quietly(file):
    try:
        file.discard()
    except Exception:
        pass


def remove_quietly(fs, path):
    try:
        fs.rm_file(path)
    except Exception:
        pass


def written_entry(fs, path, size):
    fs.invalidate_cache()
    entry = entry_of(fs.info(path))
    if entry["size"] != size:
        raise OSError(f"{path} has {entry['size']} bytes after {size} were written")
    return entry


def make_folder_of(fs, path):
    parent = fs._parent(path)
    if parent.strip("/") and not fs.isdir(parent):
        fs.makedirs(parent, exist_ok=True)


def move(fs, source, target):
    """Moves a file without fsspec's general `mv`, which takes names with some characters for patterns."""
    from fsspec.spec import AbstractFileSystem

    if type(fs).mv is AbstractFileSystem.mv:
        copy(fs, source, target)
        fs.rm_file(source)
        return
    try:
        fs.mv(source, target)
    except OSError:
        if not fs.isfile(target) or not fs.isfile(source):
            raise
        # Some servers refuse to rename over an existing file.
        fs.rm_file(target)
        fs.mv(source, target)


def copy(fs, source, target):
    try:
        fs.cp_file(source, target)
    except NotImplementedError:
        with fs.open(source, "rb") as reader, fs.open(target, "wb") as writer:
            while piece := reader.read(PIECE):
                writer.write(piece)


def do_copy(place, fs, call, request):
    source, target = place.path(request["from"]), place.path(request["key"])
    check_file(fs, source)
    if place.folders:
        make_folder_of(fs, target)
    copy(fs, source, target)


def do_move(place, fs, call, request):
    source, target = place.path(request["from"]), place.path(request["key"])
    check_file(fs, source)
    if place.folders:
        make_folder_of(fs, target)
    move(fs, source, target)


def check_file(fs, path):
    fs.invalidate_cache()
    if fs.info(path)["type"] == "directory":
        raise IsADirectoryError(path)


def do_remove(place, fs, call, request):
    """Removes a file. Succeeds if there is no such file, even if there is a folder."""
    path = place.path(request["key"])
    fs.invalidate_cache()
    try:
        fs.rm_file(path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return
    except OSError:
        if is_file(fs, path):
            raise


def is_file(fs, path):
    """Returns whether there is a file. fsspec's `isfile` reports a lost connection as a missing file."""
    fs.invalidate_cache()
    try:
        return fs.info(path)["type"] == "file"
    except (FileNotFoundError, NotADirectoryError):
        return False


def do_remove_tree(place, fs, call, request):
    fs.invalidate_cache()
    path = place.path(request["key"])
    try:
        kind = fs.info(path)["type"]
    except (FileNotFoundError, NotADirectoryError):
        return
    if kind == "directory":
        remove_folder(fs, call, path)
    else:
        fs.rm_file(path)


def remove_folder(fs, call, folder):
    fs.invalidate_cache()
    for info in fs.ls(folder, detail=True):
        call.check()
        if info["type"] == "directory" and not info.get("islink"):
            remove_folder(fs, call, info["name"])
        else:
            fs.rm_file(info["name"])
    fs.rmdir(folder)


ACTIONS = {
    "info": do_info,
    "ls": do_ls,
    "read": do_read,
    "write": do_write,
    "copy": do_copy,
    "move": do_move,
    "remove": do_remove,
    "remove_tree": do_remove_tree,
}
