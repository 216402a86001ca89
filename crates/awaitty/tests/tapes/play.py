"""Plays the example tapes of VHS that need only programs of Debian, and checks their outputs.

play.py TAPES AWAITTY READ_GIF [--quick]

Each tape runs with its own timing in a directory of its own. The exit status must be 0, the GIF must decode and have
frames, the text must end as expected, and no other file may be written, neither beside the tape nor in the directory.
"""

import argparse
import concurrent.futures
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Tapes that run at the same time. They mostly sleep.
JOBS = 12

# Seconds for one tape. The longest takes a minute.
TIMEOUT = 180

# Tapes that are not played: a pattern of their paths, and the reason.
LEFT_OUT = [
    (r"bubbletea/", "builds a Go program whose source is not beside the tape"),
    (r"cli-ui/", "needs the Ruby gem cli-ui, which is not in Debian"),
    (r"errors/(parser|dimensions)", "is wrong on purpose: scripts/tapes checks its errors"),
    (r"gh-cli/", "needs an account at GitHub and the network"),
    (r"glow/", "needs glow, which is not in Debian"),
    (r"gum/|welcome", "needs gum, which is not in Debian"),
    (r"jqp/", "needs jqp, which is not in Debian, and the network"),
    (r"meta|publish/publish", "needs VHS"),
    (r"settings/set-shell-cmd", "needs the shell of Windows"),
    (r"settings/set-shell-(nu|osh|pwsh)", "needs a shell that is not in Debian"),
    (r"slides/", "needs slides, which is not in Debian"),
]

# What the last screen of a tape must match, with its rows joined by line feeds. A tape that is not listed must have
# typed its last text.
EXPECTED = {
    "commands/alt": r"^> ?$",
    "commands/arrow": r"^> Navigate around$",
    "commands/backspace": r"^>$",
    "commands/clipboard": r"^> open https://github\.com/charmbracelet$",
    "commands/comment": r"^>$",
    "commands/ctrl": r"reverse-i-search",
    "commands/enter": r"^>\n>\n>$",
    # What was typed while hidden is still on the screen.
    "commands/hide": r"^> You won't see this being typed\.\^C\n> You will see this being typed\.$",
    "commands/show": r"^> echo \$HIDDEN\nwow\n>$",
    "commands/space": r"^>$",
    "commands/tab": r"^> cd \.",
    "commands/type": r"^> Slow down there, partner\.$",
    "demo": r"^> echo 'Welcome to VHS!'\nWelcome to VHS!\n>$",
    "env/env": r"^> echo \$HELLO\nWORLD\n>$",
    "errors/require": None,
    "fixtures/all": r"",
    "screenshot": r"^Hello world\n> echo 'See your screenshot: examples/hello_world\.png'\n",
    "settings/set-shell-xonsh": r"I\s+am\s+using\s+xonsh\.$",
    "settings/set-typing-speed": r"^> Bunny\^C\n> Human\^C\n> Tortoise\^C\n> Sloth\^C\n>$",
    "split/split": r"^> Window 1 +│> Window 2",
}

# Tapes that CI plays.
QUICK = ["commands/arrow", "commands/hide", "commands/show", "env/env", "errors/require", "screenshot",
         "settings/set-margin", "settings/set-shell-fish", "settings/set-shell-zsh"]

# Programs of tapes that Debian has, but that may not be installed.
PROGRAMS = {"settings/set-shell-custom": "ksh", "settings/set-shell-xonsh": "xonsh", "fixtures/all": "fish",
            "settings/set-shell-fish": "fish", "settings/set-shell-zsh": "zsh", "split/split": "tmux",
            "neofetch/neofetch": "neofetch"}


def left_out(name):
    """Returns the reason why a tape is not played, or None."""
    return next((reason for pattern, reason in LEFT_OUT if re.match(pattern, name)), None)


def files(directory):
    """Returns the files below a directory, with their sizes and times."""
    found = {}
    for path in sorted(directory.rglob("*")):
        status = path.stat()
        found[str(path.relative_to(directory))] = (status.st_size, status.st_mtime_ns)
    return found


def last_text(tape):
    """Returns the last text that a tape types."""
    return re.findall(r"""^Type(?:@\S+)? (["'`])(.*?)\1""", tape, re.MULTILINE)[-1][1]


def sleeps(tape):
    """Returns the seconds that a tape sleeps, or 0 if it hides some of them or plays them faster."""
    if re.search(r"^(Hide|Set PlaybackSpeed)", tape, re.MULTILINE):
        return 0
    times = re.findall(r"^Sleep ([\d.]+)(ms)?", tape, re.MULTILINE)
    return sum(float(time) / (1000 if unit else 1) for time, unit in times)


class Wrong(Exception):
    """A tape that was not played as expected."""


def check(condition, message):
    if not condition:
        raise Wrong(message)


def play(name, options, root):
    """Plays a tape, and returns a line about its outputs."""
    tape = options.tapes / f"{name}.tape"
    directory = root / name.replace("/", "-")
    directory.mkdir()
    text = tape.read_text()
    # Those with a screenshot write it where they say, so they also write their own outputs.
    with_own = "Screenshot" in text
    outputs = re.findall(r"^Output (\S+\.gif)", text, re.MULTILINE) if with_own else ["out.gif"]
    command = [options.awaitty, "play", tape]
    if not with_own:
        command += ["--output", "out.gif", "--output", "out.txt"]
        outputs.append("out.txt")
    ran = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=TIMEOUT)
    if name == "errors/require":
        check(ran.returncode == 1 and '"foo" is not in PATH' in ran.stdout + ran.stderr, ran)
        check(not files(directory), "it has written files")
        return "fails because a required program is missing"
    check(ran.returncode == 0, f"exit status {ran.returncode}: {ran.stdout}{ran.stderr}")
    pictures = re.findall(r"^Screenshot (\S+)", text, re.MULTILINE)
    for picture in pictures:
        check((directory / picture).read_bytes().startswith(b"\x89PNG"), f"{picture} is no PNG")
    wanted = set(outputs + pictures)
    found = {path for path in files(directory) if (directory / path).is_file()}
    check(found == wanted, f"it has written {sorted(found)}, not {sorted(wanted)}")
    gif = next(path for path in outputs if path.endswith(".gif"))
    decoded = subprocess.run([options.read_gif, gif], cwd=directory, capture_output=True, text=True)
    check(decoded.returncode == 0, decoded.stderr)
    _, size, frames, seconds = decoded.stdout.split()
    sizes = {key: int(value) for key, value in re.findall(r"^Set (Width|Height) (\d+)", text, re.MULTILINE)}
    width, height = map(int, size.split("x"))
    check(width == sizes.get("Width", width) and height == sizes.get("Height", height), f"it is {size}")
    # A delay in a GIF is a whole number of hundredths.
    check(float(seconds) > sleeps(text) - 0.1, f"it takes {seconds} s and sleeps {sleeps(text)} s")
    if not with_own:
        shown = (directory / "out.txt").read_text().rstrip()
        expected = EXPECTED[name] if name in EXPECTED else re.escape(last_text(text))
        check(re.search(expected, shown), f"the text does not match {expected!r}:\n{shown}")
    return f"{size}, {frames} frames, {seconds} s"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tapes", type=Path)
    parser.add_argument("awaitty", type=Path)
    parser.add_argument("read_gif", type=Path)
    parser.add_argument("--quick", action="store_true", help="play those only that CI plays")
    parser.add_argument("--keep", type=Path, help="directory for the outputs")
    options = parser.parse_args()
    options.awaitty, options.read_gif = options.awaitty.resolve(), options.read_gif.resolve()
    before = files(options.tapes)
    names = [path.removesuffix(".tape") for path in before if path.endswith(".tape")]
    played = [name for name in names if not left_out(name)]
    for pattern, _ in LEFT_OUT:
        check(any(re.match(pattern, name) for name in names), f"no tape matches {pattern!r}")
    missing = [name for name in played if name in PROGRAMS and not shutil.which(PROGRAMS[name])]
    chosen = [name for name in played if name not in missing and (not options.quick or name in QUICK)]
    root = options.keep or Path(tempfile.mkdtemp(prefix="awaitty-tapes-"))
    root.mkdir(exist_ok=True)
    started, failed = time.monotonic(), []
    # Those that take longest are started first.
    chosen.sort(key=lambda name: -(options.tapes / f"{name}.tape").stat().st_size)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        running = {pool.submit(play, name, options, root): name for name in chosen}
        for future in concurrent.futures.as_completed(running):
            try:
                print(f"ok      {running[future]}: {future.result()}", flush=True)
            except (Wrong, OSError, subprocess.TimeoutExpired) as error:
                failed.append(running[future])
                print(f"FAILED  {running[future]}: {error}", flush=True)
    if files(options.tapes) != before:
        failed.append(f"{options.tapes}: files were written beside the tapes")
        print("FAILED ", failed[-1])
    for name in missing:
        print(f"NOT CHECKED: {name} needs {PROGRAMS[name]}: install it")
    if not options.keep:
        shutil.rmtree(root)
    took = time.monotonic() - started
    print(f"{len(names)} tapes: {len(played)} need only programs of Debian, {len(chosen)} played in {took:.0f} s, "
          f"{len(failed)} failed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
