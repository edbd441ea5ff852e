"""Makes Total Recall's environment on first use, then runs the command in it.

    python3 bootstrap.py COMMAND …              what `total-recall COMMAND …` does
    python3 bootstrap.py --python-for FILE      prints a Python with the packages of FILE, for scripts/test

Needs the standard library alone and starts on any Python 3: one that is too old looks for a newer one. Hence the
syntax of Python 3.6 and, since hooks call it at every event, no import that an existing environment does not need.
"""

import os
import sys
import zlib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO

OLDEST = (3, 10)
NEWEST_KNOWN_MINOR = 14
DAYS_UNTIL_FORGOTTEN = 30
NEEDED_BYTES = 20_000_000  # measured in 2026: pip and the packages take three times that
HERE = os.path.dirname(os.path.realpath(__file__))
OWN_VERSION = "{}.{}".format(*sys.version_info[:2])

# What the output of uv and pip says, and what that means to a person. The first match counts.
EXPLANATIONS = (
    (("No space left on device", "Disk quota exceeded"), "the disk is full: free some space"),
    (
        ("DO NOT MATCH THE HASHES", "Hash mismatch"),
        "a downloaded package is not the one that Total Recall was tested with: try another network or package index",
    ),
    (
        (
            "Failed to fetch",
            "error sending request",
            "Failed to establish a new connection",
            "ConnectTimeout",
            "ReadTimeout",
            "ProxyError",
            "SSLError",
            "name resolution",
            "Connection refused",
        ),
        "the package index cannot be reached: check the network, proxy and certificates",
    ),
)


class Failure(Exception):
    """What a person can mend; the message is one line, `output` the last lines of the tool that failed."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


def main(arguments: "list[str]") -> int:
    """Replaces this process by the command; returns an exit code only if that was impossible or not asked for."""
    for_tests = arguments[:1] == ["--python-for"]
    try:
        python = environment(arguments[1] if for_tests else os.path.join(os.path.dirname(HERE), "requirements.txt"))
    except Failure as failure:
        print(f"total-recall: {failure}", file=sys.stderr)
        for line in failure.output.splitlines()[-8:]:
            print(f"    {line}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if for_tests:
        print(python)
        return 0
    bytecode = os.path.join(user_folder("XDG_CACHE_HOME", ".cache"), "pycache")
    options = ["-I", "-X", "utf8", "-X", f"pycache_prefix={bytecode}"]
    os.execv(python, [python, *options, os.path.join(HERE, "run.py"), *arguments])


def environment(requirements: str) -> str:
    """The path of a Python that has the packages of the file `requirements`, made now if there is none.

    Raises Failure.
    """
    root = user_folder("XDG_DATA_HOME", os.path.join(".local", "share"))
    try:
        with open(requirements, "rb") as file:
            prefix = f"env-{checksum(file.read())}-"
    except OSError as error:
        raise Failure(f"{requirements}: {error.strerror}: install Total Recall again") from error
    try:
        found = existing(root, prefix)
        if not found and sys.version_info < OLDEST:
            start_newer_python()
        if not found:
            found = build(root, prefix, requirements)
        os.utime(found)  # an environment that nobody used for long is removed
    except OSError as error:
        raise Failure(f"cannot use {error.filename or root}: {error.strerror}") from error
    return python_of(found)


def user_folder(variable: str, default: str) -> str:
    """Total Recall's folder in the one that an XDG variable names; a relative value counts as none, as XDG says."""
    folder = os.environ.get(variable, "")
    if not folder.startswith("/"):
        home = os.environ.get("HOME", "")
        if not home.startswith("/"):
            raise Failure("HOME is not set: set it to your home directory and run the command again")
        folder = os.path.join(home, default)
    return os.path.join(folder, "total-recall")


def checksum(content: bytes) -> str:
    """What the POSIX tool `cksum` prints, with "-" for the space: the shell script finds environments by it.

    That CRC is zlib's with the bits of each byte, and of the result, in reverse, started from zero and
    continued over the length.
    """
    length = len(content).to_bytes((len(content).bit_length() + 7) // 8, "little")
    mirrored = (content + length).translate(bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256)))
    crc = int(f"{zlib.crc32(mirrored, 0xFFFFFFFF):032b}"[::-1], 2)
    return f"{crc}-{len(content)}"


def python_of(folder: str) -> str:
    return os.path.join(folder, "bin", "python")


def existing(root: str, prefix: str) -> "str | None":
    """The environment for this Python version, else for any other, that starts."""
    try:
        names = [name for name in os.listdir(root) if name.startswith(prefix)]
    except FileNotFoundError:
        return None
    for name in sorted(names, key=lambda name: (name != prefix + OWN_VERSION, name)):
        folder = os.path.join(root, name)
        if os.access(python_of(folder), os.X_OK) and not is_outgrown(folder):
            return folder
    return None


def is_outgrown(folder: str) -> bool:
    """Is it ours, and was it made for another Python version? run.py sends us here when a system upgrade did that."""
    return os.path.realpath(sys.prefix) == os.path.realpath(folder) and not folder.endswith("-" + OWN_VERSION)


def start_newer_python() -> None:
    """Replaces this process by the first Python in PATH that is new enough. Raises Failure if there is none."""
    import subprocess

    names = ["python3", *(f"python3.{minor}" for minor in range(NEWEST_KNOWN_MINOR, OLDEST[1] - 1, -1))]
    is_new_enough = f"import sys; sys.exit(sys.version_info < {OLDEST})"
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        for python in (os.path.join(folder, name) for name in names):
            if not os.access(python, os.X_OK) or os.path.isdir(python):
                continue
            question = [python, "-I", "-c", is_new_enough]
            if subprocess.run(question, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
                os.execv(python, [python, *sys.argv])
    raise Failure(
        f"Python {OWN_VERSION} ({sys.executable}) is too old: "
        "install Python 3.10 or newer, with python3 in PATH, and run the command again"
    )


def build(root: str, prefix: str, requirements: str) -> str:
    """The path of a complete environment: ours, or that of another process that was faster.

    It gets its name once it is complete. Whatever else lies here is refuse of a process that was killed: the lock is
    the kernel's and passes to the tools, so that it is held as long as any of them still writes.
    """
    import fcntl

    os.makedirs(root, mode=0o700, exist_ok=True)
    with open(os.path.join(root, "lock"), "a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print("Waiting for Total Recall's environment, which another process prepares …", file=sys.stderr)
            fcntl.flock(lock, fcntl.LOCK_EX)
        found = existing(root, prefix)
        if found:
            return found
        print("Preparing Total Recall's environment (once, about a minute) …", file=sys.stderr)
        remove_refuse(root)
        final = os.path.join(root, prefix + OWN_VERSION)
        unfinished = os.path.join(root, f"building-{os.getpid()}")
        try:
            install(unfinished, os.path.abspath(requirements), lock)
            remove(final)  # there is one only if its Python is gone
            os.rename(unfinished, final)
        finally:
            remove(unfinished)
        return final


def remove_refuse(root: str) -> None:
    """Removes what a killed process left, and environments that are outgrown or have not been used for long."""
    import time

    for name in os.listdir(root):
        folder = os.path.join(root, name)
        age_days = (time.time() - os.stat(folder).st_mtime) / 86400
        is_forgotten = name.startswith("env-") and (age_days > DAYS_UNTIL_FORGOTTEN or is_outgrown(folder))
        if name.startswith("building-") or is_forgotten:
            remove(folder)


def remove(folder: str) -> None:
    import shutil

    if os.path.isdir(folder):
        shutil.rmtree(folder)


def install(folder: str, requirements: str, lock: "IO[str]") -> None:
    """Makes an environment in `folder` with uv; where that is missing or fails, with venv and pip. Raises Failure."""
    import shutil
    import subprocess

    root = os.path.dirname(folder)
    ways = recipes(folder, requirements)
    if not ways:
        raise Failure(
            f"Python {OWN_VERSION} ({sys.executable}) cannot make environments, its venv or ensurepip is missing: "
            f"install it (Debian, Ubuntu: apt install python{OWN_VERSION}-venv) or uv, and run the command again"
        )
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    settings.update(PIP_USER="0", PIP_NO_INPUT="1", PIP_DISABLE_PIP_VERSION_CHECK="1", LC_ALL="C.UTF-8")
    failed = ""
    for commands in ways:
        remove(folder)
        for command in commands:
            done = subprocess.run(
                command,
                env=settings,
                cwd=root,  # not in somebody's project, whose settings uv would take
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[lock.fileno()],
            )
            if done.returncode != 0:
                failed = done.stdout.decode("utf-8", "replace")
                break
        else:
            return
    is_full = shutil.disk_usage(root).free < NEEDED_BYTES  # venv keeps to itself why it failed
    why = explain("No space left on device" if is_full else failed)
    raise Failure(f"cannot prepare the environment in {root}: {why}", failed.strip())


def recipes(folder: str, requirements: str) -> "list[list[list[str]]]":
    """The ways to make an environment here, each a list of commands, the fastest first."""
    import importlib.util
    import shutil

    base = getattr(sys, "_base_executable", None) or sys.executable
    python = python_of(folder)
    packages = ["--require-hashes", "-r", requirements]
    uv = shutil.which("uv")
    ways = []
    if uv:
        ways.append(
            [
                [uv, "venv", "--quiet", "--no-project", "--python", base, folder],
                [uv, "pip", "install", "--quiet", "--python", python, *packages],
            ]
        )
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        ways.append(
            [
                [base, "-I", "-m", "venv", folder],
                [python, "-I", "-m", "pip", "install", "--quiet", "--no-compile", *packages],
            ]
        )
    return ways


def explain(output: str) -> str:
    for signs, meaning in EXPLANATIONS:
        if any(sign in output for sign in signs):
            return f"{meaning}, and run the command again"
    return "the tool that makes it failed, its last lines follow"


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
