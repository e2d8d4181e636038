"""Imports the datachain library before it is known which job will use it.

The engine starts an interpreter with the command of a job, in a sandbox like that of the job, and with this file as
`sitecustomize`. Python runs it before the script. It imports the library, says `ready`, and waits for a job. Then it checks
that the job would have seen the same if it had imported the library itself, takes over the job's environment variables,
prepares the team's warehouse, and says `fit`. After `begin` it says `begun` and returns, and Python runs the script like any
other. If it says anything else, or ends, the engine starts the job without it: so whatever looks unusual here is a reason to
refuse.

It reads the engine's words from descriptor 3 and answers on descriptor 4. Nothing of the job runs before `begin`.
"""

import os
import sys

# Prefixes, in lower case, of variables that are read by C code or by the dynamic linker, or with a search through all variables.
early = (
    *"python ld_ lc_ lang tz malloc_ glibc_ gconv_ locpath nlspath openssl_ sslkeylog".split(),
    *("omp_", "gomp_", "kmp_", "openblas_", "goto_", "mkl_", "blis_", "veclib_", "numexpr_", "nvpl_", "npy_", "arrow_"),
    *("fsspec_", "tqdm_", "pydantic_"),
)
# Modules that search through all variables, for names with a prefix of the list above.
searchers = ("fsspec.config", "tqdm.utils")
# Files of a repository that no import reads.
unread = (".git", ".gitignore", ".gitattributes", ".gitmodules", ".github")
longest_script = 256 * 1024


class Unfit(Exception):
    """The job must start without this interpreter."""


class Reads:
    """Records which environment variables are read."""

    def __init__(self):
        self.names = set()
        self.kind = type(os.environ)
        self.get, self.iterate = self.kind.__getitem__, self.kind.__iter__

    def __enter__(self):
        def get(environ, name):
            if caller() not in searchers:
                self.names.add(os.fsdecode(name))
            return self.get(environ, name)

        def iterate(environ):
            if caller() not in searchers:
                raise Unfit("a module reads all variables")
            return self.iterate(environ)

        self.kind.__getitem__, self.kind.__iter__ = get, iterate
        return self

    def __exit__(self, *_):
        self.kind.__getitem__, self.kind.__iter__ = self.get, self.iterate


def caller():
    """Returns the name of the module that asks for a variable."""
    frame = sys._getframe(2)
    while frame and frame.f_globals.get("__name__") in ("os", "collections.abc", __name__):
        frame = frame.f_back
    return frame.f_globals.get("__name__") if frame else None


def run_own_sitecustomize(folder):
    """Runs the installation's own `sitecustomize`, which this file hides. Returns whether there is one."""
    from importlib.machinery import PathFinder
    from importlib.util import module_from_spec

    spec = PathFinder.find_spec("sitecustomize", [path for path in sys.path if path != folder])
    if spec is None:
        return False
    sys.modules["sitecustomize"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["sitecustomize"])
    return True


def identities(folder):
    """Returns what shows that the installed packages were changed: the state of every folder with modules."""
    found = {}
    for path in sys.path:
        if path != folder:
            try:
                state = os.stat(path)
                found[path] = (state.st_dev, state.st_ino, state.st_nlink > 0, state.st_mtime_ns)
            except OSError:
                found[path] = None
    return found


def job_variables(before, venv, folder):
    """Returns the variables of the job. The same shell reads them from the same file as for a job without this interpreter."""
    import subprocess

    start = '. "$1"; [ -z "$2" ] || { VIRTUAL_ENV=$2 PATH=$2/bin:$PATH; export VIRTUAL_ENV PATH; }; exec /usr/bin/env -0'
    words = ["/bin/sh", "-c", before + "\n" + start, "sh", os.path.join(folder, "../env"), venv]
    made = subprocess.run(words, env={}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    pairs = [os.fsdecode(line).partition("=") for line in made.stdout.split(b"\0") if line]
    return {name: value for name, _, value in pairs}


def check_variables(job, plain, read, left):
    """Refuses a job with other values for the variables that the import has read, or may have read."""
    for name in {*job, *plain}:
        if job.get(name) != plain.get(name) and (name in read or name in left or name.lower().startswith(early)):
            raise Unfit(f"the variable {name} is read when the library is imported")


def tops():
    return {name.partition(".")[0] for name in sys.modules} - {"__main__"} | set(getattr(sys, "stdlib_module_names", ()))


def check_folder(known):
    """Refuses a job with a file that would hide an imported module, or that the import may read."""
    for name in os.listdir("."):
        if name.partition(".")[0] in known or (name.startswith(".") and name not in unread):
            raise Unfit(f"the file {name} may change what is imported")


def is_constant(node):
    import ast

    return all(isinstance(part, (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Load)) for part in ast.walk(node))


def check_script(name, known):
    """Refuses a script that does anything before it imports the library, such as setting a variable."""
    import ast

    with open(name, "rb") as file:
        text = file.read(longest_script + 1)
    if len(text) > longest_script:
        raise Unfit("the script is long")
    for statement in ast.parse(text).body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            whole = isinstance(statement, ast.Import)
            names = [alias.name for alias in statement.names] if whole else ["." * statement.level + (statement.module or "")]
            for top in (name.partition(".")[0] for name in names):
                if top == "datachain":
                    return
                if top not in known:
                    raise Unfit(f"the script imports {top} before the library")
        elif isinstance(statement, ast.Assign) and all(isinstance(target, ast.Name) for target in statement.targets):
            if not is_constant(statement.value):
                break
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    raise Unfit("the script does something before it imports the library")


def listen():
    """Returns the engine's next word; ends this process if there is none."""
    word = b""
    while not word.endswith(b"\n"):
        byte = os.read(3, 1)
        if not byte:
            os._exit(1)
        word += byte
    return word.strip().decode()


def take_over(variables):
    for name in list(os.environ):
        del os.environ[name]
    os.environ.update(variables)


def prepare_warehouse(folder):
    """Runs the program that prepares the team's warehouse, in a child process that leaves nothing here. If it fails, the engine
    runs it again, in a sandbox of its own: so its output is not needed."""
    program = os.path.join(folder, "millrace_datasets.py")
    child = os.fork()
    if child == 0:
        try:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            # As with the option -I, of which the engine makes use when it runs the program itself.
            own = {"", os.getcwd(), *os.environ.get("PYTHONPATH", "").split(":")}
            sys.path[:] = [path for path in sys.path if path not in own]
            with open(program, "rb") as file:
                exec(compile(file.read(), program, "exec"), {"__name__": "__main__", "__file__": program})
            os._exit(0)
        finally:
            os._exit(1)
    if os.waitpid(child, 0)[1] != 0:
        raise Unfit("the warehouse could not be prepared")


def become_job(start, folder, plain, read, left, installed):
    import importlib
    import logging
    import time

    importlib.invalidate_caches()
    known = tops()
    if identities(folder) != installed:
        raise Unfit("packages were changed")
    check_folder(known)
    check_script(sys.argv[0], known)
    job = job_variables(*start, folder)
    check_variables(job, plain, read, left)
    take_over({**job, **left})
    if isinstance(logging._startTime, float):
        logging._startTime = time.time()
    else:
        logging._startTime = time.time_ns()


def main(folder):
    # Variables that the sandbox sets before those of the job, as shell commands; and the virtualenv, or nothing.
    start = os.environ.pop("MILLRACE_BEFORE"), os.environ.pop("MILLRACE_WAITING_VENV")
    plain = dict(os.environ)
    installed = identities(folder)
    with Reads() as reads:
        import datachain  # noqa: F401
    if any(name not in os.environ for name in plain):
        raise Unfit("the import removes a variable")
    left = {name: value for name, value in os.environ.items() if plain.get(name) != value}
    os.write(4, b"ready\n")
    if listen() != "go":
        os._exit(1)
    become_job(start, folder, plain, reads.names, left, installed)
    prepare_warehouse(folder)
    os.write(4, b"fit\n")
    if listen() != "begin":
        os._exit(1)
    os.write(4, b"begun\n")
    os.close(3)
    os.close(4)


def refuse(error):
    """Ends this process before the script. The engine starts the job without it."""
    try:
        os.write(4, f"unfit {type(error).__name__}: {error}\n".encode("utf-8", "replace")[:500])
    finally:
        os._exit(1)


place = os.path.dirname(os.path.abspath(__file__))
try:
    has_own = run_own_sitecustomize(place)
    main(place)
except BaseException as error:  # Also SystemExit: nothing may run the script without the engine's word.
    refuse(error)
if not has_own:
    # Python ignores this error, and nothing of this module is left.
    raise ImportError(name="sitecustomize")
