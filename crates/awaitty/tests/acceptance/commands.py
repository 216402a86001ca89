"""Acceptance checks of commands in shells: run_command, the state of a session, secrets, submit.

The same list of commands runs in each shell in three settings: started by spawn, nested in another shell, and behind a
real ssh. Each shell has a home with hostile start-up files: hooks, aliases, functions and coloured prompts.
"""

import asyncio
import hashlib
import os
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager, suppress

import harness
from harness import PYTHON, Failure, begin, check, connect, expect, fields, gone, many, processes, times

PROMPT = "at your service>"  # the end of every prompt here

# ------------------------------------------------------------------------------------ hostile homes
BASH = r"""
set -u
__debug=0 __seen=none
trap ': $((__debug++))' DEBUG
__first() { __seen=$?; PS1='\[\e[32m\]┌ \u@\h \w $__seen\[\e[0m\]\n\[\e[1;34m\]└ \[\e[7m\]at your service>\[\e[0m\] '; }
__second() { local x=1; : "$x"; }
PROMPT_COMMAND=(__first __second 'PS2="more> "')
PS0='\e[35m-- PS0 --\e[0m\n'
alias printf='echo HACKED' true=false
HISTCONTROL=
"""
ZSH = r"""
setopt nounset prompt_subst
typeset -g __seen=none __ran=
precmd() { __seen=$? }
preexec() { __ran=$1 }
__before() { PROMPT=$'%F{green}┌ %n %~ $__seen%f\n%B%F{blue}└%f %S'"at your service>"$'%s%b ' }
__after() { local x=1; : $x }
typeset -ga precmd_functions preexec_functions
precmd_functions+=(__before) preexec_functions+=(__after)
RPROMPT='%F{red}%* right%f'
PROMPT_EOL_MARK='%S<no newline>%s'
alias printf='echo HACKED' true=false
HISTFILE=~/.zsh_history HISTSIZE=1000 SAVEHIST=1000
"""
FISH = r"""
set -g fish_greeting
set -g __seen none
function fish_prompt
    set -g __seen $status
    set_color green
    echo "┌ $PWD $__seen"
    set_color -r blue
    echo -n "└ at your service>"
    set_color normal
    echo -n " "
end
function fish_right_prompt
    set_color red
    date +%T
    set_color normal
end
function __before --on-event fish_preexec
    set -g __ran $argv
end
function __after --on-event fish_postexec
    builtin false
end
abbr -a pwd 'echo HACKED'
function printf
    switch "$argv[1]"
        case '*2004*' # fish itself turns on bracketed paste
            builtin printf $argv
        case '*'
            echo HACKED $argv
    end
end
function true
    builtin false
end
"""
DASH = r"""
set -u
alias printf='echo HACKED' true=false
PS1="$(command printf '\033[32m┌ $PWD\033[0m\n\033[1;34m└ \033[7mat your service>\033[0m ')"
PS2='more> '
"""
SHELLS = {"bash": (".bashrc", BASH), "zsh": (".zshrc", ZSH), "fish": (".config/fish/config.fish", FISH), "dash": (".shrc", DASH)}


def fill(home, shell):
    """Writes the start-up file. Returns the variables that the shell needs."""
    name, text = SHELLS[shell]
    path = os.path.join(home, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)
    os.makedirs(os.path.join(home, FOLDER), exist_ok=True)
    env = {"HOME": home, "LC_ALL": "C.UTF-8"}
    return {**env, "ENV": path} if shell == "dash" else env


@contextmanager
def home_of(shell):
    # Shells report the real path as their directory.
    with tempfile.TemporaryDirectory(prefix="awaitty-user-", ignore_cleanup_errors=True) as home:
        home = os.path.realpath(home)
        yield home, fill(home, shell)


@contextmanager
def load():
    """Keeps every core busy."""
    burners = [subprocess.Popen([PYTHON, "-I", "-S", "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for burner in burners:
            burner.kill()
            burner.wait()


# ------------------------------------------------------------------------------------ the commands
class Shell:
    """A shell in a session."""

    def __init__(self, s, sid, shell, home):
        self.s, self.sid, self.shell, self.home, self.ran = s, sid, shell, home, 0

    async def start(self, command, **options):
        self.ran += 1
        return await self.s.ok("run_command", session_id=self.sid, command=command, **options)

    async def run(self, command, exit_code=0, output="", **options):
        """Runs a command to its end. `output` is the expected text or a pattern for it."""
        result = await self.start(command, **options)
        fields(result, outcome="met", finished=True, exit_code=exit_code, continuation_prompt=None)
        found = result["output"]
        matches = found == output if isinstance(output, str) else output.search(found)
        expect(matches, f"output {str(output)[:300]!r}", result)
        expect(isinstance(result["duration_ms"], int) and result.get("cwd"), "duration_ms and cwd", result)
        return result

    def words(self, posix, fish):
        return fish if self.shell == "fish" else posix


async def state(s, sid, holds, what, seconds=10.0):
    """Polls snapshots until one satisfies `holds`, without the waits that are under test."""
    until = time.monotonic() + seconds
    while not holds(found := await s.ok("snapshot", session_id=sid)):
        expect(time.monotonic() < until, what, found)
        await asyncio.sleep(0.01)
    return found


FOLDER = "a b%41;ä"
ODD = "tab\there, a!b !! !$ \"x\" `y` $HOME ${z} #c ~ * ? \\q [ä€😀] <<E; &| (1) {2,3} %d"
FAKES = "".join(f"\\033]133;{mark}{aid}\\007" for aid in ("", ";aid=1", ";aid=", ";aid=00000000000000000000000000000000")
                for mark in ("D;0", "A", "B", "D;0", "C", "P", "D"))
# name, command (or that and the one for fish), exit_code, output (or a pattern for it)
LIST = [
    ("true", ("\\true", "builtin true"), 0, ""),
    ("true_is_an_alias", "true", 1, ""),
    ("false", "false", 1, ""),
    ("exit_7", ("(exit 7)", "sh -c 'exit 7'"), 7, ""),
    ("not_found", "nosuchcommand", 127, re.compile("nosuchcommand")),
    ("killed", "sh -c 'kill -9 $$'", 137, re.compile("[Kk]illed|SIGKILL")),
    ("no_final_newline", "command printf abc", 0, "abc"),
    ("no_final_newline_at_the_edge", "command printf %0120d 7", 0, "7".zfill(120)),
    ("several_lines", "echo one; echo two >&2; echo; echo three", 0, "one\ntwo\n\nthree"),
    ("here_document", ("cat <<'END' | tr a-z A-Z\none $x\n\ttwo 'q\nEND", None), 0, "ONE $X\n        TWO 'Q"),
    ("loop", ("for i in 1 2 3\ndo\n  echo n$i\n\ndone", "for i in 1 2 3\n  echo n$i\n\nend"), 0, "n1\nn2\nn3"),
    ("lines", "echo one\nfalse\nsh -c 'exit 9'", 9, "one"),
    ("fake_marks", f"command printf 'A{FAKES}B\\n'; sleep 0.02; sh -c 'exit 3'", 3, "AB"),
    ("clears", "echo before; clear; echo after", 0, "after"),
    ("progress", "command printf '10%%\\r20%%\\r\\033[32m100%%\\033[m done\\n'", 0, "100% done"),
    ("utf8", "echo ä€; echo 😀 x", 0, "ä€\n😀 x"),
    ("reads_nothing", "cat </dev/null", 0, ""),
    ("quotes", "echo \"it's 'x'\" 'a \"b\" !! c'", 0, "it's 'x' a \"b\" !! c"),
]
ALTERNATE = "echo before; command printf '\\033[?1049h\\033[5;5Hinside'; sleep 0.03; command printf '\\033[?1049l'; echo after"
ALL_LINES = "\n".join(map(str, range(1, 200_001)))


async def alternate(at):
    await at.run(ALTERNATE, 0, "before\nafter")


async def all_lines(at):
    result = await at.run("seq 200000", 0, re.compile("^1\n2\n"), max_chars=2_000_000)
    expect(result["output"] == ALL_LINES and not result.get("missing_chars"), "200 000 lines", {"length": len(result["output"])})


async def most_lines(at):
    result = await at.run("seq 200000", 0, re.compile("^1\n2\n"))
    head, tail = re.split(r"\n… \d+ characters left out[^\n]*…\n", result["output"])
    expect(ALL_LINES.startswith(head) and ALL_LINES.endswith(tail) and len(result["output"]) <= 20_000, "head and tail", result)
    expect(len(head) <= 1_500 and len(tail) <= 4_500, "the first 1500 and the last 4500", {"head": len(head), "tail": len(tail)})
    expect(len(head) > 1_400 and len(tail) > 4_400, "the cut within a line of these limits", {"head": len(head), "tail": len(tail)})
    missing = len(ALL_LINES) - len(head) - len(tail)
    expect(result["missing_chars"] == missing, f"missing_chars={missing}", result["missing_chars"])


async def status_is_kept(at):
    await at.run("sh -c 'exit 5'", 5, "")
    await at.run(at.words("echo $?", "echo $status"), 0, "5")


async def hooks_see_the_status(at):
    """Hooks of the user see the exit status of the command."""
    await at.run("sh -c 'exit 6'", 6, "")
    await at.run("echo $__seen", 0, "6")


async def empty(at):
    for command in ("", "# nothing", "\n# nothing\n\n"):
        await at.run(at.words("\\true", "builtin true"))
        await at.run(command)


async def empty_has_the_last_status(at):
    for command in ("", "# nothing"):
        await at.run("false", 1)
        result = await at.start(command)
        fields(result, outcome="met", finished=True, output="")
        await at.run(at.words("echo $?", "echo $status"), 0, str(result["exit_code"]))


async def cd(at):
    for directory in (os.path.join(at.home, FOLDER), at.home):
        expect((await at.run(f"cd '{directory}'"))["cwd"] == directory, f"cwd {directory}", directory)
        expect((await at.run("pwd", 0, directory))["cwd"] == directory, f"cwd {directory}", directory)


async def background(at):
    result = await at.run("sleep 30 &", 0, re.compile(r"^$|^\[\d+\] \d+$"))
    expect(result.took < 10, "an immediate result", {"took": result.took})
    result = await at.start(at.words("kill $!; wait", "command kill $last_pid; wait"))
    fields(result, outcome="met", finished=True)


async def interrupt(at):
    number = f"30.{random.randrange(10**9)}"
    task = begin(at.start(f"sleep {number}; echo never"))
    await state(at.s, at.sid, lambda one: number in (one.get("running") or ""), "running sleep")
    # zsh loses an interrupt that arrives while it starts the program.
    until = time.monotonic() + 10
    while not processes(f"sleep\0{number}\0".encode()):
        expect(time.monotonic() < until, "sleep to run", {})
        await asyncio.sleep(0.01)
    await at.s.ok("send_input", session_id=at.sid, keys=["ctrl+c"])
    result = await task
    fields(result, outcome="met", finished=True, exit_code=130)
    expect(result["output"] in ("", "^C") and result.took < 8, "an immediate end without output", result)
    await at.run("echo next", 0, "next")


async def unclosed(at):
    for command in ("echo 'abc", 'echo "abc\ndef', at.words("if \\true; then\n echo x", "if builtin true\n echo x")):
        result = await at.start(command)
        fields(result, outcome="continuation_prompt", finished=False, continuation_prompt=True, exit_code=None)
        expect(result.took < 5, "an immediate result", {"took": result.took})
        await at.run("echo next", 0, "next")


async def long_argument(at):
    text = (ODD.replace("\\", "/") * 2000)[:65_000]
    sum = hashlib.md5(text.encode()).hexdigest()
    await at.run(f"command printf %s '{text}' | md5sum", 0, f"{sum}  -")


async def syntax_error(at):
    """The error message of the shell is the output."""
    result = await at.start("echo )")
    fields(result, outcome="met", finished=True, continuation_prompt=None)
    message = re.search("[Ss]yntax error|parse error|Unexpected", result["output"])
    expect(result["exit_code"] > 0 and message, "an error with its message", result)


async def syntax_error_in_lines(at):
    """The output has the error message, but not the wrapper around several lines."""
    result = await at.start("echo one\necho )")
    fields(result, outcome="met", finished=True, continuation_prompt=None)
    message = re.search("[Ss]yntax error|parse error|Unexpected", result["output"])
    expect(result["exit_code"] > 0 and message, "an error with its message", result)
    expect(not re.search("at your service|[{}]$|more>", result["output"].split("\n")[0]), "no wrapper", result)


async def alternate_left_on(at):
    """A program that is killed on the alternate screen does not switch back."""
    await at.start("sh -c 'command printf \"\\033[?1049h\\033[H\\033[2J\"; kill -9 $$'")
    await at.run("echo one; echo two", 0, "one\ntwo")
    await at.run("sleep 1.3; echo three", 0, "three")  # not reported as a full-screen program
    await at.start("command printf '\\033[?1049l'")


async def odd_characters(at):
    text = ODD.replace("\\", "\\\\") if at.shell == "fish" else ODD
    sum = hashlib.md5(ODD.encode()).hexdigest()
    await at.run(f"command printf %s '{text}' | md5sum", 0, f"{sum}  -")
    await at.run('command printf "%s\n" "a!b !! ä€😀 $HOME" | wc -l', 0, "1")


def cases(shell, is_integrated, is_asked=False):
    def plain(command, exit_code, output):
        return lambda at: at.run(command, exit_code, output)

    for name, command, exit_code, output in LIST:
        command = command[shell == "fish"] if isinstance(command, tuple) else command
        if (name, shell, is_integrated) == ("killed", "zsh", False):
            output = ""  # zsh prints no message for a program that runs in an `eval`
        if command:
            yield name, plain(command, exit_code, output)
    functions = (alternate, all_lines, most_lines, status_is_kept, empty, empty_has_the_last_status, cd, background,
                     interrupt, unclosed, syntax_error, long_argument, odd_characters, alternate_left_on)
    for function in functions:
        # A remote shell is probed before each command with a line that fails in fish.
        if function is not status_is_kept or not (shell == "fish" and is_asked):
            yield function.__name__, function
    if is_integrated:
        yield "syntax_error_in_lines", syntax_error_in_lines
    if is_integrated and shell != "dash":
        yield "hooks_see_the_status", hooks_see_the_status


# ------------------------------------------------------------------------------------ the settings
async def spawned(s, shell, env):
    return await s.spawn(shell, env=env)


async def ready(s, sid, timeout=15_000):
    result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=timeout)
    return result["outcome"]


async def nested(s, shell, env, outer=("bash", "--norc")):
    sid = await s.spawn(*outer, env=env)
    expect(await ready(s, sid) == "met", "ready", outer)
    result = await s.send(sid, f"{shell}\n", wait={"ready": True, "timeout_ms": 20_000})
    fields(result, outcome="met", waiting_for_input=True, evidence="kernel", at_prompt=False)
    return sid


@asynccontextmanager
async def sshd():
    """Starts a server on the loopback that accepts our key. Yields the ssh command line."""
    with tempfile.TemporaryDirectory(prefix="awaitty-sshd-") as directory:
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{directory}/{key}"], check=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with open(f"{directory}/config", "w") as config:
            config.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory}/host\nPidFile none\nStrictModes no\nUsePAM no\n"
                         f"AuthorizedKeysFile {directory}/user.pub\nPermitRootLogin yes\nPrintMotd no\nPrintLastLog no\nMaxStartups 100\n")
        with suppress(OSError):
            os.makedirs("/run/sshd", exist_ok=True)  # required for privilege separation
        with open(f"{directory}/log", "w+") as log:
            program = shutil.which("sshd") or "/usr/sbin/sshd"
            server = subprocess.Popen([program, "-f", f"{directory}/config", "-D", "-e"], stderr=log)
            try:
                until = time.monotonic() + 10
                while "Server listening" not in open(log.name).read():
                    expect(server.poll() is None and time.monotonic() < until, "sshd to listen", open(log.name).read())
                    await asyncio.sleep(0.02)
                options = ("StrictHostKeyChecking=no", "UserKnownHostsFile=/dev/null", "IdentitiesOnly=yes")
                yield ["ssh", "-tt", "-q", "-F", "none", "-p", str(port), "-i", f"{directory}/user",
                       *(word for option in options for word in ("-o", option)), "127.0.0.1"]
            finally:
                server.terminate()
                server.wait()


async def over_ssh(s, shell, env, words):
    words_of_env = [f"{name}='{value}'" for name, value in env.items()]
    sid = await s.spawn(*words, " ".join(["exec", "env", f"ACCEPTANCE_MARK={s.mark.decode()}", *words_of_env, shell]))
    await s.up(sid, PROMPT)
    return sid


async def run_list(s, shell, start, bootstrap=False, is_integrated=True, is_asked=False):
    """Runs the list repeatedly in two shells at once, each of which is reused."""
    chosen, free, ran = list(cases(shell, is_integrated, is_asked)), [], 0
    with home_of(shell) as (home, env), load():

        async def one(i):
            nonlocal ran
            name, function = chosen[i % len(chosen)]
            if free:
                at = free.pop(0)
            else:
                at = Shell(s, await start(s, shell, env), shell, home)
                if bootstrap:
                    await at.run("echo there", 0, "there", bootstrap=True)
            before = at.ran
            try:
                await function(at)
            except Exception as error:
                raw = (await s.call("read_output", session_id=at.sid, raw=True)).get("raw", "")
                await s.call("close_session", session_id=at.sid)
                raise Failure(f"{name}: {error if isinstance(error, Failure) else repr(error)}; last bytes {raw[-300:]}") from error
            free.append(at)
            ran += at.ran - before

        # There are twenty of these lists: scripts/test runs each once, and a run with scale 1 a hundred times.
        passed = await many((100 if harness.SCALE >= 1 else times(10)) * len(chosen), 2, one)
        for at in free:
            await s.close(at.sid)
    return f"{passed} cases, {ran} commands"


def lists():
    for shell in SHELLS:

        @check(limit=3600, name=f"commands_in_{shell}")
        async def of_spawn(s, shell=shell):
            return await run_list(s, shell, spawned)

        for how in ("sentinel", "bootstrap"):

            @check(limit=3600, name=f"commands_in_nested_{shell}_by_{how}")
            async def of_nested(s, shell=shell, how=how):
                return await run_list(s, shell, nested, how == "bootstrap", how == "bootstrap")

            @check(limit=3600, name=f"commands_over_ssh_{shell}_by_{how}")
            async def of_ssh(s, shell=shell, how=how):
                async with sshd() as words:
                    start = lambda s, shell, env: over_ssh(s, shell, env, words)
                    is_sentinel = how == "sentinel"
                    return await run_list(s, shell, start, not is_sentinel, not is_sentinel, is_sentinel)


lists()


# ------------------------------------------------------------------------------------ the home
def contents(directory):
    """Returns the contents of all files in a directory by relative path."""
    found = {}
    for path, directories, files in os.walk(directory):
        # fish parses manual pages in the background for minutes after its first start.
        directories[:] = [name for name in directories if name != "generated_completions"]
        for name in directories:
            found[os.path.relpath(os.path.join(path, name), directory) + "/"] = b""
        for name in files:
            with open(os.path.join(path, name), "rb") as file:
                found[os.path.relpath(file.name, directory)] = file.read()
    return found


async def lived_in(home, shell, env):
    """Uses the shell in the home once without awaitty, which creates its history."""
    names = {"bash": ".bash_history", "zsh": ".zsh_history"}
    if shell in names:
        with open(os.path.join(home, names[shell]), "w") as file:
            file.write("ls\necho mine\n")
    if shell == "fish":  # its first start creates files, some of them after it has exited
        mark = f"acceptance-{os.path.basename(home)}"
        env = {**os.environ, **env, "TERM": "xterm", "ACCEPTANCE_MARK": mark}
        script = ["script", "-qec", "fish", "/dev/null"]
        subprocess.run(script, env=env, input=b"echo mine\nexit\n", stdout=subprocess.DEVNULL, check=False)
        left = await gone(mark.encode(), 60)
        expect(not left, "fish to end", left)


async def untouched(s, shell, start, bootstrap):
    with home_of(shell) as (home, env):
        await lived_in(home, shell, env)
        before = contents(home)
        for end in ("close", "exit"):
            at = Shell(s, await start(s, shell, env), shell, home)
            for i, (command, output) in enumerate((("echo one", "one"), ("for i in 1 2\ndo echo $i; done", "1\n2"), ("", ""))):
                if command.startswith("for") and shell == "fish":
                    continue
                await at.run(command, 0, output, **({"bootstrap": True} if bootstrap and not i else {}))
            fields(await at.start("echo 'abc"), continuation_prompt=True)
            if end == "exit":
                await s.call("run_command", session_id=at.sid, command="exit", timeout_ms=5000)
            await s.close(at.sid)
            after = contents(home)
            names = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
            changed = {name: [str(one.get(name))[-300:] for one in (before, after)] for name in names}
            expect(not changed, f"{shell}: an unchanged home after {end}", changed)


@check(limit=120)
async def home_is_untouched(s):
    for shell in SHELLS:
        await untouched(s, shell, spawned, False)


async def nested_in_dash(s, shell, env):
    return await nested(s, shell, env, ["dash"])  # dash writes no history


def nested_homes():
    for shell in SHELLS:
        for how in ("sentinel", "bootstrap"):

            @check(limit=120, name=f"home_is_untouched_nested_{shell}_by_{how}")
            async def home(s, shell=shell, how=how):
                await untouched(s, shell, nested_in_dash, how == "bootstrap")


nested_homes()


# ------------------------------------------------------------------------------------ state of a session
async def has_state(s, sid, **wanted):
    """Expects these fields in a snapshot, in the list and in the result of a wait."""
    fields(await s.ok("snapshot", session_id=sid), **wanted)
    fields((await s.sessions())[sid], **wanted)
    fields(await s.wait(sid, "NEVER", timeout_ms=0), **wanted)


READ_HIDDEN = "import getpass, hashlib; x = getpass.getpass('word: '); print('GOT', hashlib.md5(x.encode()).hexdigest())"
WAITING = {
    # the command in a bash, and more fields of the state
    "read": ("read x", {"echo": None, "full_screen": False}),
    "read_in_sh": ("sh -c 'read x'", {"echo": None, "full_screen": False}),
    "cat": ("cat", {"echo": None, "full_screen": False}),
    "python": (f"{PYTHON} -q", {"full_screen": False}),
    "secret_prompt": (f'{PYTHON} -c "{READ_HIDDEN}"', {"echo": "off", "full_screen": False}),
    "read_s": ("read -s x", {"echo": "off", "full_screen": False}),
    "less": ("less /etc/passwd", {"full_screen": True}),
}
NOT_WAITING = {
    "sleep": "sleep 5",
    "computing": f'{PYTHON} -c "while True: pass"',
    "build": "for i in $(seq 1000); do sh -c 'sleep 0.01; echo built' | cat; done",
    "pipe": "sleep 30 | cat",
    "fifo": "mkfifo f 2>/dev/null; cat f",
    "printing": "yes | head -n 100000000",
}


def waiting():
    for name, (command, wanted) in WAITING.items():

        @check(limit=180, name=f"waiting_for_input_{name}")
        async def is_true(s, command=command, wanted=wanted):
            async def one(i):
                sid = await s.spawn("bash", "--norc")
                fields(await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}]), outcome="met")
                await has_state(s, sid, at_prompt=True, waiting_for_input=True, evidence="shell", running=None)
                result = await s.send(sid, f"{command}\n", wait={"ready": True, "timeout_ms": 20_000})
                fields(result, outcome="met", waiting_for_input=True, evidence="kernel", at_prompt=False)
                expect("echo" not in wanted or result.get("echo") == wanted["echo"], f"{wanted}", result)
                await has_state(s, sid, waiting_for_input=True, evidence="kernel", at_prompt=False, running=command, **wanted)
                await s.close(sid)

            return await many(times(30), 4, one)

    for name, command in NOT_WAITING.items():

        @check(limit=180, name=f"not_waiting_for_input_{name}")
        async def is_false(s, command=command):
            async def one(i):
                with tempfile.TemporaryDirectory(prefix="awaitty-work-") as directory:
                    sid = await s.spawn("bash", "--norc", cwd=directory)
                    fields(await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}]), outcome="met")
                    result = await s.send(sid, f"{command}\n", wait={"ready": True, "timeout_ms": 700})
                    fields(result, outcome="timeout", waiting_for_input=False, evidence=None, at_prompt=False)
                    for _ in range(10):
                        found = await state(s, sid, lambda one: one.get("running"), "running")
                        fields(found, running=command, waiting_for_input=False, evidence=None)
                        await has_state(s, sid, waiting_for_input=False, evidence=None, at_prompt=False, running=command)
                    expect(found["running_ms"] >= 600, "running_ms", found)
                    await s.close(sid)

            return await many(times(20), 4, one)


waiting()


POLLING = '''
import ctypes, resource, sys
count = int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
class PollFd(ctypes.Structure): _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]
all = (PollFd * count)(*([PollFd(-1, 1, 0)] * (count - 1)), PollFd(0, 1, 0))
print("UP", flush=True); ctypes.CDLL(None).poll(all, count, -1)
'''


@check(limit=60)
async def waiting_for_input_among_others(s):
    """A program polls the terminal as its last descriptor. The server reads up to 1 024 entries of the poll set."""
    for count, is_seen in ((1, True), (1024, True), (1025, False)):
        sid = await s.py(POLLING, str(count))
        await s.up(sid)
        result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}], timeout_ms=15_000 if is_seen else 700)
        fields(result, outcome="met" if is_seen else "timeout")
        await s.close(sid)


@check(limit=60)
async def waiting_for_input_of_a_program_of_spawn(s):
    """A program that spawn starts without a shell."""

    async def one(i):
        sid = await s.sh(("read x", "stty -echo; echo UP; read x")[i % 2])
        expect(await ready(s, sid) == "met", "ready", sid)
        await has_state(s, sid, waiting_for_input=True, evidence="kernel", at_prompt=False, echo=(None, "off")[i % 2])
        await s.close(sid)
        sid = await s.sh("sleep 5")
        expect(await ready(s, sid, 300) == "timeout", "not ready", sid)
        await has_state(s, sid, waiting_for_input=False, at_prompt=False)
        await s.close(sid)

    return await many(times(50), 4, one)


@check(limit=120)
async def ready_is_reported_after_the_output(s):
    """When a wait reports ready, the screen shows the output before that."""

    async def one(i):
        shell = list(SHELLS)[i % 4]
        sid = await s.spawn(shell, shell_integration=bool(i // 4 % 2))
        result = await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}])
        fields(result, outcome="met")
        expect((await s.text(sid)).strip(), f"the prompt of {shell}", {})
        if i // 4 % 2:
            await has_state(s, sid, at_prompt=True, waiting_for_input=True, evidence="shell")
        await s.close(sid)

    return await many(times(200), 4, one)


@check(limit=120)
async def ready_after_type_ahead(s):
    """A shell that has not yet read the typed input is not ready."""

    async def one(i):
        sid = await s.spawn(list(SHELLS)[i % 4])
        result = await s.send(sid, "sh -c 'sleep 0.3; echo LATE; exec cat'\n", wait={"ready": True, "timeout_ms": 10_000})
        fields(result, outcome="met", at_prompt=False, evidence="kernel", waiting_for_input=True)
        expect("LATE\n" in await s.text(sid) + "\n", f"{list(SHELLS)[i % 4]}: LATE on the screen", result)
        await s.close(sid)

    return await many(times(100), 4, one)


# ------------------------------------------------------------------------------------ secrets
class ResultLog:
    """Records the results of all tool calls."""

    def __init__(self, s):
        self.s, self.results, self.call_tool = s, [], s.session.call_tool
        s.session.call_tool = self.call

    async def call(self, tool, arguments, **options):
        result = await self.call_tool(tool, arguments, **options)
        self.results.append(result.model_dump_json())
        return result

    def expect_without(self, secret):
        leaks = [one for one in self.results if secret in one or secret[4:14] in one]
        expect(self.results and not leaks, "the secret in no result", leaks)


SECRET = "hunter2-geheim-4711"


@check(server=False)
async def secret_is_typed_where_echo_is_off():
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        log = ResultLog(s)

        async def one(i):
            sid = await s.spawn("bash", "--norc")
            fields(await s.ok("wait_for_any", waits=[{"session_id": sid, "ready": True}]), outcome="met")
            # Programs do not inherit variables of secrets.
            fields(await s.ok("run_command", session_id=sid, command="env | grep -c ^AWAITTY_SECRET_"), output="0", exit_code=1)
            result = await s.send(sid, f'{PYTHON} -c "{READ_HIDDEN}"\n', wait={"ready": True, "timeout_ms": 20_000})
            fields(result, outcome="met", echo="off")
            wait = {"text": "GOT .*", "timeout_ms": 10_000}
            result = await s.ok("send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN", wait=wait)
            fields(result, outcome="met")
            expect(hashlib.md5(SECRET.encode()).hexdigest() in result["match"]["text"], "all of the secret, and Enter", result)
            await s.ok("snapshot", session_id=sid, format="annotated")
            await s.ok("read_output", session_id=sid)
            await s.ok("read_output", session_id=sid, raw=True)
            fields(await s.ok("search_output", session_id=sid, pattern="hun.er2|geheim"), matches=[])
            await s.ok("list_sessions")
            await s.close(sid)

        passed = await many(times(20), 4, one)
        log.expect_without(SECRET)
        return f"{passed}; {len(log.results)} results"


@check(server=False)
async def secret_is_denied_where_it_would_be_visible():
    async with connect(env={"AWAITTY_SECRET_TOKEN": SECRET}) as s:
        log = ResultLog(s)
        sid = await s.spawn("bash", "--norc")
        await ready(s, sid)
        await s.err(["denied"], "send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN")
        await s.send(sid, "cat\n", wait={"ready": True})
        await s.err(["denied"], "send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN")
        await s.err(["denied"], "send_input", session_id=sid, secret="AWAITTY_SECRET_TOKEN", input="x\n")
        await s.ok("send_input", session_id=sid, keys=["ctrl+c"], wait={"ready": True})
        # A line editor turns the terminal's echo off too, but shows its input.
        for shell in ("zsh", "fish", "dash"):
            other = await s.spawn(shell)
            await ready(s, other)
            await s.err(["denied"], "send_input", session_id=other, secret="AWAITTY_SECRET_TOKEN")
        result = await s.call("send_input", session_id=sid, secret="NO_SUCH_VARIABLE")
        expect(result.is_error and "NO_SUCH_VARIABLE" in result["message"], "an error that names it", result)
        fields(await s.ok("run_command", session_id=sid, command="echo next"), output="next")
        for one in await s.sessions():
            await s.ok("read_output", session_id=one, raw=True)
        log.expect_without(SECRET)


# ------------------------------------------------------------------------------------ submit
EDITOR = r"""
import os, re, sys, termios, time, tty
how = sys.argv[1]; tty.setraw(0); os.write(1, b"\x1b[?2004hUP\r\n> "); text = b""
while True:
    read = os.read(0, 65536)
    if b"\x03" in read: break
    if how == "ignores": continue
    pasted = re.search(rb"\x1b\[200~(.*?)\x1b\[201~", read, re.S)
    if pasted: os.write(1, pasted[1].replace(b"\r", b"\r\n")); text += pasted[1]; read = read[pasted.end():]
    if pasted and how == "drops": continue
    for byte in read:
        if byte != 13: text += bytes([byte]); os.write(1, bytes([byte]))
        elif how != "swallows": os.write(1, b"\r\nGOT " + repr(text).encode() + b"\r\n> "); text = b""
"""


def submits():
    for how, outcome in (("pastes", "submitted"), ("drops", "submitted"), ("ignores", "not_echoed"), ("swallows", "swallowed")):

        @check(limit=120, name=f"submit_to_a_program_that_{how}")
        async def submit(s, how=how, outcome=outcome):
            async def one(i):
                sid = await s.py(EDITOR, how)
                await s.up(sid)
                for text in (f"hello {i}", "two words, ä and a !")[: 2 if outcome == "submitted" else 1]:
                    fields(await s.send(sid, text, submit=True), submit=outcome)
                    if outcome == "submitted":
                        await s.wait(sid, re.escape(f"GOT {text.encode()!r}"), timeout_ms=5000)
                        expect(f"GOT {text.encode()!r}" in await s.text(sid), f"{text} once", await s.text(sid))
                expect((await s.text(sid)).count("GOT") == (2 if outcome == "submitted" else 0), "each once", await s.text(sid))
                await s.close(sid)

            return await many(times(30), 4, one)


submits()


@check(limit=120)
async def submit_to_a_line_editor(s):
    async def one(i):
        shell = ("bash", "zsh", "fish", "dash")[i % 4]
        sid = await s.spawn(shell)
        expect(await ready(s, sid) == "met", "ready", shell)
        fields(await s.send(sid, f"echo $((6 * 7))_{i}" if shell != "fish" else f"echo (math 6 x 7)_{i}", submit=True), submit="submitted")
        fields(await s.wait(sid, f"^42_{i}", timeout_ms=5000), found=True)
        await s.close(sid)

    return await many(times(40), 4, one)


@check(limit=120)
async def submit_to_a_program_that_does_not_read(s):
    async def one(i):
        sid = await s.sh("echo UP; exec sleep 60")
        await s.up(sid)
        fields(await s.send(sid, "hello", submit=True), submit="no_reaction")
        await s.close(sid)

    return await many(times(20), 4, one)


# ------------------------------------------------------------------------------------ run_command
async def shell_of(s, shell="bash"):
    sid = await s.spawn(shell, env={"LC_ALL": "C.UTF-8"})
    expect(await ready(s, sid) == "met", f"{shell} to be ready", shell)
    return sid


@check(limit=60)
async def not_at_prompt_while_a_command_runs(s):
    for shell in SHELLS:
        sid = await shell_of(s, shell)
        task = begin(s.ok("run_command", session_id=sid, command="sleep 30"))
        await state(s, sid, lambda one: one.get("running"), "running")
        result = await s.err(["not_at_prompt"], "run_command", session_id=sid, command="echo no")
        expect("sleep" in result["message"] and result.took < 5, "an immediate error that names the command", result)
        await s.ok("send_input", session_id=sid, keys=["ctrl+c"])
        fields(await task, exit_code=130, finished=True)
        fields(await s.ok("run_command", session_id=sid, command="echo yes"), output="yes", exit_code=0)
        expect("echo no" not in await s.text(sid), "nothing typed", await s.text(sid))


def half_typed():
    for shell in SHELLS:

        @check(limit=120, name=f"not_at_prompt_with_a_line_half_typed_in_{shell}")
        async def half(s, shell=shell):
            async def one(i):
                sid = await shell_of(s, shell)
                line = f"echo half_{shell}_{i}"  # unique, because fish suggests lines from its history
                await s.send(sid, line)
                await s.screen(sid, lambda text: line in text, "the line on the screen")
                result = await s.err(["not_at_prompt"], "run_command", session_id=sid, command="echo no")
                expect(result.took < 8, "a result within 8 s", {"took": result.took})
                text = (await s.text(sid)).rstrip()
                expect(text.endswith(line) and "echo no" not in text, "an unchanged line", text)
                await s.send(sid, " done\n", wait={"text": f"^half_{shell}_{i} done", "timeout_ms": 5000})
                fields(await s.ok("run_command", session_id=sid, command="echo yes"), output="yes", exit_code=0)
                await s.close(sid)

            return await many(times(40), 4, one)


half_typed()


@check(limit=120)
async def two_commands_at_once(s):
    async def one(i):
        sid = await shell_of(s, list(SHELLS)[i % 4])
        for _ in range(3):
            calls = [s.call("run_command", session_id=sid, command=f"echo {name}; sleep 0.5") for name in "ab"]
            results = await asyncio.gather(*calls)
            won = [one for one in results if not one.is_error]
            lost = [one for one in results if one.is_error]
            expect(len(won) == 1 and lost[0].get("code") == "not_at_prompt", "one to succeed", [dict(one) for one in results])
            fields(won[0], finished=True, exit_code=0, output="ab"[results.index(won[0])])
        await s.close(sid)

    return await many(times(40), 4, one)


@check(limit=120)
async def wait_for_command_continues_after_a_timeout(s):
    async def one(i):
        sid = await shell_of(s, list(SHELLS)[i % 4])
        result = await s.ok("run_command", session_id=sid, command="echo one; sleep 1; echo two; sh -c 'exit 4'", timeout_ms=400)
        fields(result, outcome="timeout", finished=False, output="one", exit_code=None, at_prompt=False)
        expect("sleep 1" in result["running"] and "one" in result["screen_text"], "the running command", result)
        options = {"command_id": result["command_id"]} if i % 2 else {}
        result = await s.ok("wait_for_command", session_id=sid, **options)
        fields(result, outcome="met", finished=True, output="one\ntwo", exit_code=4, at_prompt=True)
        fields(await s.ok("wait_for_command", session_id=sid, **options), outcome="met", output="one\ntwo", exit_code=4)
        await s.close(sid)

    return await many(times(40), 4, one)


def typed_commands():
    """A command that was typed has an exit status and output, too."""
    for shell in SHELLS:

        @check(limit=60, name=f"wait_for_a_typed_command_in_{shell}")
        async def typed(s, shell=shell):
            async def one(i):
                sid = await shell_of(s, shell)
                result = await s.send(sid, "sleep 0.2; echo typed; sh -c 'exit 5'\n", wait={"command": True, "timeout_ms": 10_000})
                fields(result, outcome="met", at_prompt=True)
                fields(await s.ok("wait_for_command", session_id=sid), finished=True, output="typed", exit_code=5)
                await s.close(sid)

            return await many(times(10), 2, one)


typed_commands()


@check(limit=120)
async def a_command_that_ends_the_shell(s):
    async def one(i):
        shell = list(SHELLS)[i % 4]
        sid = await shell_of(s, shell)
        result = await s.ok("run_command", session_id=sid, command="exec sleep 1000", timeout_ms=20_000)
        fields(result, outcome="replaced", replaced=True, finished=False, exit_code=None)
        await s.close(sid)
        sid = await shell_of(s, shell)
        result = await s.ok("run_command", session_id=sid, command="echo bye; exit 3", timeout_ms=20_000)
        fields(result, outcome="exited", exited=True, exit_code=3)
        expect("bye" in result["output"], "the output before the exit", result)
        await s.err(["exited"], "run_command", session_id=sid, command="echo no")
        await s.close(sid)

    return await many(times(40), 4, one)


@check(limit=120)
async def a_full_screen_command(s):
    async def one(i):
        sid = await shell_of(s, list(SHELLS)[i % 4])
        command, leave = (("less /etc/passwd", "q"), ("vim -u NONE -n", ":q\n"))[i // 4 % 2]
        result = await s.ok("run_command", session_id=sid, command=command, timeout_ms=20_000)
        fields(result, outcome="full_screen", finished=False, full_screen=True, exit_code=None, waiting_for_input=True)
        expect(result.took < 10 and result["screen_text"], "a result within 10 s, with the screen", result)
        # wait_for_command then waits for the end of the program.
        fields(await s.ok("wait_for_command", session_id=sid, timeout_ms=300), outcome="timeout", finished=False, full_screen=True)
        result = await s.send(sid, leave, wait={"command": True, "timeout_ms": 10_000})
        fields(result, outcome="met", at_prompt=True, full_screen=False)
        fields(await s.ok("wait_for_command", session_id=sid), finished=True, exit_code=0, output="")
        await s.close(sid)

    return await many(times(40), 4, one)


@check(limit=60)
async def a_shell_without_integration(s):
    """Without integration the shell prints no marks, and commands run as in a nested shell."""
    for shell in SHELLS:
        sid = await s.spawn(shell, shell_integration=False)
        await ready(s, sid)
        expect("133;" not in (await s.ok("read_output", session_id=sid, raw=True))["raw"], f"{shell} without marks", shell)
        fields(await s.ok("run_command", session_id=sid, command="echo yes; sh -c 'exit 3'"), output="yes", exit_code=3, finished=True)
