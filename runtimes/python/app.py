"""The program inside the Python component: runs one piece of code as `__main__`, then the instance is thrown away.

The build takes a snapshot of the interpreter after this file was imported, so every module named in `STDLIB` is
there at run time without any file system, and importing it costs nothing. A module not named there does not exist
for the program. Nothing here decides a limit: memory, time and output are the host's business.
"""

import asyncio
import atexit
import builtins
import errno
import importlib
import io
import linecache
import random
import sys
import time
import traceback
import types

import wit_world

# All of the standard library that makes sense without files, network, processes and terminal. `socket`, `subprocess`
# and `threading` are here because much else imports them; using them fails.
STDLIB = """
    abc argparse array ast asyncio atexit base64 binascii bisect builtins calendar cmath cmd code codecs codeop
    collections collections.abc colorsys concurrent.futures.thread configparser contextlib contextvars copy copyreg csv
    dataclasses datetime decimal difflib dis email email.message email.mime.text email.parser email.policy encodings.idna
    enum errno fileinput fnmatch fractions functools gc getopt gettext glob graphlib gzip hashlib heapq hmac html
    html.entities html.parser http http.client http.cookies importlib importlib.metadata importlib.resources inspect io
    ipaddress itertools json json.decoder json.encoder keyword linecache locale logging logging.config logging.handlers
    marshal math mimetypes numbers operator optparse os os.path pathlib pickle pickletools pkgutil platform plistlib
    posixpath pprint profile pstats queue quopri random re reprlib sched secrets select selectors shelve shlex shutil
    signal site socket sqlite3 stat statistics string string.templatelib stringprep struct subprocess symtable sys
    sysconfig tarfile tempfile textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc types
    typing unicodedata unittest unittest.mock urllib.error urllib.parse urllib.request uuid warnings wave weakref
    xml.dom.minidom xml.etree.ElementTree xml.sax xml.sax.saxutils zipfile zlib zoneinfo __future__ _strptime
    encodings.ascii encodings.cp1252 encodings.cp437 encodings.latin_1 encodings.utf_16 encodings.utf_16_le
    encodings.utf_16_be encodings.utf_32 encodings.utf_8_sig encodings.hex_codec encodings.base64_codec
    encodings.rot_13 encodings.punycode encodings.unicode_escape encodings.raw_unicode_escape encodings.iso8859_1
    encodings.iso8859_15 encodings.shift_jis encodings.gbk encodings.big5 encodings.euc_jp encodings.euc_kr
"""
for _name in STDLIB.split():
    importlib.import_module(_name)

NAME = "main.py"

# Module that raised an operating-system error -> what the program wanted.
ORIGINS = {
    "subprocess": "processes",
    "multiprocessing": "processes",
    "socket": "the network",
    "ssl": "the network",
    "urllib": "the network",
    "http": "the network",
}
PROCESS_CALLS = ("fork", "system", "popen", "exec", "spawn", "posix_spawn", "wait", "kill", "pipe")
FILE_ERRORS = (errno.ENOENT, errno.EBADF, errno.ENOSYS, errno.ENOTSUP, errno.EROFS, errno.EACCES, errno.EPERM)


def missing_feature(error, modules):
    """What the program asked for that does not exist here, or None when it just failed."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"the module {error.name}"
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return "threads"
    if isinstance(error, AttributeError) and getattr(error.obj, "__name__", "") in ("os", "posix"):
        return "processes" if str(error.name).startswith(PROCESS_CALLS) else f"os.{error.name}"
    if isinstance(error, OSError):
        for module in modules:
            if module in ORIGINS:
                return ORIGINS[module]
        if error.errno in FILE_ERRORS:
            return "files"
    return None


def exit_code(status):
    """The exit code of `sys.exit(status)`; a text goes to stderr, as in the real interpreter."""
    if status is None:
        return 0
    if isinstance(status, int):
        return status & 0xFF
    print(status, file=sys.stderr)
    return 1


def report(error):
    """Prints the traceback without the frames of this file; returns the missing feature."""
    tb = error.__traceback__
    while tb is not None and tb.tb_frame.f_code.co_filename != NAME:
        tb = tb.tb_next
    error.__traceback__ = tb
    modules = [str(frame.f_globals.get("__name__", "")).partition(".")[0] for frame, _ in traceback.walk_tb(tb)]
    missing = missing_feature(error, modules)
    traceback.print_exception(error)
    return missing


class Clock:
    """The selector of an event loop that has nothing to wait for but time."""

    def select(self, timeout=None):
        if timeout is None:
            raise RuntimeError("the event loop waits for something that can never happen")
        time.sleep(max(0, timeout))
        return ()

    def get_map(self):
        return {}

    def close(self):
        pass


class Loop(asyncio.SelectorEventLoop):
    """The event loop of this interpreter: tasks and timers; no sockets, threads or signals to wake it."""

    def __init__(self):
        super().__init__(Clock())

    def _make_self_pipe(self):
        pass

    def _close_self_pipe(self):
        pass

    def _process_events(self, events):
        pass


asyncio.new_event_loop = asyncio.events.new_event_loop = Loop


def finish():
    """What the interpreter does at its end: exit handlers, then the buffers."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except (AttributeError, OSError, ValueError):
            pass  # the program closed or replaced it


def execute(code):
    """Runs the program; returns its exit code and the missing feature."""
    main = types.ModuleType("__main__")
    main.__builtins__ = builtins
    sys.modules["__main__"] = main
    linecache.cache[NAME] = (len(code), None, code.splitlines(keepends=True), NAME)
    try:
        exec(compile(code, NAME, "exec", dont_inherit=True), main.__dict__)
    except SystemExit as exit_request:
        return exit_code(exit_request.code), None
    except BaseException as error:
        return 1, report(error)
    return 0, None


def open_streams():
    """Buffers the output streams by lines. Those of the build are unbuffered, and would lose the end of a long text."""
    for number, name, errors in ((1, "stdout", "strict"), (2, "stderr", "backslashreplace")):
        raw = io.FileIO(number, "w", closefd=False)
        stream = io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors=errors, line_buffering=True)
        stream.mode = "w"
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


open_streams()


class WitWorld(wit_world.WitWorld):
    """The component's only export."""

    def run(self, code):
        random.seed()  # the snapshot froze the state of the generator
        sys.argv = [NAME]
        result = execute(code)
        finish()
        return result
