"""Acceptance checks of the operator's policy: each rule at its bounds, and the audit log."""

import asyncio
import json
import os
import shutil
import stat
import subprocess
import tempfile
from contextlib import asynccontextmanager

import harness
from commands import READ_HIDDEN, ready
from harness import HOME, PYTHON, begin, check, connect, expect, fields


@asynccontextmanager
async def ruled(rules, *flags, env=None):
    """Starts a server with a policy. Yields it and the temporary directory of the policy."""
    with tempfile.TemporaryDirectory(prefix="awaitty-rules-", ignore_cleanup_errors=True) as directory:
        path = os.path.join(directory, "policy.toml")
        with open(path, "w") as file:
            file.write(rules.replace("FOLDER", directory))
        async with connect("--policy", path, *flags, env=env) as s:
            yield s, directory


async def denied(s, rule, tool, /, **arguments):
    """Expects a denial. Its message must name the rule and the allowed values."""
    result = await s.err(["denied"], tool, **arguments)
    expect(rule in result["message"] and "allowed" in result["message"], f"a message about {rule}", result)
    return result


def link(directory, name, target):
    path = os.path.join(directory, name)
    os.symlink(target, path)
    return path


@check(server=False)
async def policy_programs():
    """The rules apply to the file that runs. Names are resolved with the server's PATH."""
    async with ruled('[spawn]\nallow = ["cat", "/bin/sleep"]\ndeny = ["/usr/bin/env"]\n') as (s, directory):
        await s.spawn("cat")
        await s.spawn("/bin/../bin/cat")
        await s.spawn("sleep", "60")
        fake = os.path.join(directory, "cat")
        shutil.copy(shutil.which("dash"), fake)
        harmless = link(directory, "sleep", shutil.which("dash"))
        refused = [("dash", {}), (fake, {}), (harmless, {}), ("./cat", {"cwd": directory}), ("./sleep", {"cwd": directory})]
        refused += [("cat", {"env": {"PATH": directory}}), ("env", {}), ("../bin/dash", {"cwd": "/usr/lib"})]
        for program, options in refused:
            await denied(s, "spawn.", "spawn", command=program, args=[], **{**harness.BACKENDS[harness.BACKEND], **options})
        # A link to an allowed program is allowed.
        await s.spawn(link(directory, "my-cat", shutil.which("cat")))
        await s.ok("spawn", command="cat", name="again", **harness.BACKENDS[harness.BACKEND])
        await denied(s, "spawn.allow", "spawn", command="dash", name="again", if_exists="restart", **harness.BACKENDS[harness.BACKEND])
        listed = (await s.ok("list_sessions"))["sessions"]
        expect(any(one.get("name") == "again" and one["state"] == "running" for one in listed), "the session to survive a refused restart", listed)
    async with ruled('[spawn]\ndeny = ["*sh", "/bin/sleep"]\n') as (s, directory):
        for program in ("bash", "/bin/sh", link(directory, "harmless", shutil.which("bash")), "sleep", "zsh"):
            await denied(s, "spawn.deny", "spawn", command=program, args=[], **harness.BACKENDS[harness.BACKEND])
        await s.spawn("cat")


@check(server=False)
async def policy_directories():
    """The rules apply to the directory of a program after its links are resolved."""
    async with ruled('[spawn]\ndirs = ["FOLDER/in/**"]\n') as (s, directory):
        os.makedirs(os.path.join(directory, "in", "below"))
        link(os.path.join(directory, "in"), "out", "/")
        for inside in ("in", "in/below", "in/below/.."):
            await s.spawn("cat", cwd=os.path.join(directory, inside))
        for outside in ("", "in/..", "in/out", "in/out/tmp"):
            await denied(s, "spawn.dirs", "spawn", command="cat", cwd=os.path.join(directory, outside), **harness.BACKENDS[harness.BACKEND])
        await denied(s, "spawn.dirs", "spawn", command="cat", **harness.BACKENDS[harness.BACKEND])


@check(server=False)
async def policy_environment():
    """A program gets the minimal variables, those that the policy passes and those of the call."""
    env = {"OPENAI_API_KEY": "hunter2", "PASSED_ON": "yes", "LC_TIME": "C.UTF-8"}
    async with ruled('[spawn]\nenv = "minimal"\npass = ["PASSED_*"]\n', env=env) as (s, _):
        sid = await s.sh("env; echo ALL DONE; exec cat", env={"ADDED": "too"}, cols=300)
        await s.wait(sid, "ALL DONE", since="screen")
        names = {line.split("=")[0] for line in (await s.text(sid)).split("\n")}
        expect({"PATH", "HOME", "PASSED_ON", "ADDED", "LC_TIME", "TERM"} <= names, "the passed variables", sorted(names))
        expect("OPENAI_API_KEY" not in names, "no other variable", sorted(names))
    async with ruled("[tools]\n", env=env) as (s, _):
        sid = await s.sh("env; echo ALL DONE; exec cat", cols=300)
        await s.wait(sid, "OPENAI_API_KEY=hunter2", since="screen")


@check(server=False)
async def policy_tools():
    """Denied tools are not listed, and cannot be called, also not through another tool."""
    async with ruled('[tools]\nallow = ["*"]\ndeny = ["run_command", "save_recording", "screen*"]\n') as (s, _):
        listed = {tool.name for tool in (await s.session.list_tools()).tools}
        expect("snapshot" in listed and not listed & {"run_command", "save_recording", "screenshot"}, "a list without the denied tools", sorted(listed))
        sid = await s.spawn("bash", "--norc")
        await ready(s, sid)
        await denied(s, "tools.deny", "run_command", session_id=sid, command="echo FORGED")
        await denied(s, "tools.deny", "screenshot", session_id=sid)
        await denied(s, "tools.deny", "run_steps", session_id=sid, steps=[{"run": "echo FORGED"}])
        expect("FORGED" not in await s.text(sid), "no command to run", await s.text(sid))
    async with ruled('[tools]\ndeny = ["snapshot"]\n') as (s, _):
        sid = await s.spawn("cat")
        listed = [str(resource.uri) for resource in (await s.session.list_resources()).resources]
        expect(listed == [f"output://{sid}"], "a list without screens", listed)
        await s.session.read_resource(f"output://{sid}")
        try:
            result = await s.session.read_resource(f"screen://{sid}")
        except Exception as error:
            result = error
        expect("tools.deny" in str(result), "a denial", result)
    async with ruled('[tools]\nallow = ["snapshot", "run_steps"]\n') as (s, _):
        await denied(s, "tools.allow", "spawn", command="cat")


@check(server=False)
async def policy_sessions():
    """The rules for reading and typing match the names of sessions."""
    own = "tmux:awaitty/*" if harness.BACKEND == "tmux" else "s1"
    rules = f'[sessions]\nsee = ["web-*", "{own}"]\ntype = ["web-1"]\n'
    async with ruled(rules) as (s, _):
        backend = harness.BACKENDS[harness.BACKEND]
        readable = await s.spawn("bash", "--norc", name="web-2")
        typed = await s.spawn("bash", "--norc", name="web-1")
        await ready(s, readable)
        await s.ok("snapshot", session_id=readable)
        kill = {"kill": True} if backend else {}
        for tool, arguments in (
            ("send_input", {"input": "FORGED"}),
            ("send_input", {"input": "FORGED", "submit": True}),
            ("run_command", {"command": "echo FORGED"}),
            ("run_steps", {"steps": [{"input": "FORGED"}]}),
            ("resize_session", {"cols": 40, "rows": 10}),
            ("close_session", kill),
        ):
            await denied(s, "sessions.type", tool, session_id=readable, **arguments)
        await denied(s, "sessions.type", "spawn", command="cat", name="web-2", if_exists="restart", **backend)
        expect("FORGED" not in await s.text(readable), "no input", await s.text(readable))
        await s.ok("send_input", session_id=typed, input="x")
        for tool in ("snapshot", "send_input", "read_output", "close_session"):
            await denied(s, "sessions.see", tool, session_id="db")
        if not backend:
            await denied(s, "sessions.see", "spawn", command="cat", name="db")
            await denied(s, "sessions.see", "spawn", command="cat")


@check(server=False, backends=("pty",))
async def policy_tmux_servers():
    """Panes of a hidden tmux server are neither listed nor attached, and its channels cannot be used."""
    tmux = lambda s, *words: subprocess.run(["tmux", "-f", "/dev/null", *words], env=s.tmux_env, check=True, capture_output=True, text=True).stdout.strip()
    async with ruled('[sessions]\nsee = ["s*", "tmux:%*"]\ntype = ["s*"]\n') as (s, _):
        try:
            tmux(s, "new-session", "-d", "-s", "mine", "cat")
            tmux(s, "-L", "other", "new-session", "-d", "-s", "theirs", "cat")
            pane = tmux(s, "display-message", "-p", "-t", "mine", "#{pane_id}")
            await s.ok("snapshot", session_id=f"tmux:{pane}")
            await denied(s, "sessions.type", "send_input", session_id=f"tmux:{pane}", input="x")
            await denied(s, "sessions.see", "wait_for_channel", channel="tmux:other/x", timeout_ms=0)
        finally:
            for server in ([], ["-L", "other"]):
                subprocess.run(["tmux", *server, "kill-server"], env=s.tmux_env, check=False, capture_output=True)
    async with ruled('[sessions]\nsee = ["s*"]\n') as (s, _):
        try:
            tmux(s, "new-session", "-d", "-s", "mine", "cat")
            pane = tmux(s, "display-message", "-p", "-t", "mine", "#{pane_id}")
            listed = [one["session_id"] for one in (await s.ok("list_sessions"))["sessions"]]
            expect(f"tmux:{pane}" not in listed, "no pane of the user", listed)
            for target in (f"tmux:{pane}", "tmux:mine:0.0", "tmux:mine"):
                await denied(s, "sessions.see", "snapshot", session_id=target)
            expect(tmux(s, "display-message", "-p", "-t", "mine", "#{pane_pipe}") == "0", "an unattached pane", pane)
            await denied(s, "sessions.see", "signal_channel", channel="tmux:x")
        finally:
            subprocess.run(["tmux", "kill-server"], env=s.tmux_env, check=False, capture_output=True)


@check(server=False)
async def policy_limits_of_a_client():
    """The numbers of sessions and calls of a client are limited."""
    async with ruled("[limits]\nsessions = 2\ncalls = 2\n") as (s, _):
        backend = harness.BACKENDS[harness.BACKEND]
        first, second = await s.spawn("cat"), await s.spawn("cat")
        result = await s.err(["limit_reached"], "spawn", command="cat", **backend)
        expect("limits.sessions" in result["message"], "the rule", result)
        await s.close(first)
        await s.spawn("cat")
        waits = [begin(s.wait(second, "NEVER", timeout_ms=60_000)) for _ in range(2)]
        await asyncio.sleep(0.2)  # the waits use all calls, so the check cannot ask the server whether they run
        result = await s.err(["limit_reached"], "snapshot", session_id=second)
        expect("limits.calls" in result["message"], "the rule", result)
        for wait in waits:
            wait.cancel()
        await asyncio.gather(*waits, return_exceptions=True)
        for _ in range(100):
            if not (await s.call("snapshot", session_id=second)).is_error:
                break
            await asyncio.sleep(0.02)
        else:
            raise harness.Failure("expected room for a call after the waits were cancelled")


SANDBOX = '["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--tmpfs", "/srv", "--unshare-net", "--unshare-pid", "--die-with-parent"]'


@check(server=False, backends=("pty",), limit=60)
async def policy_wrapping_command():
    """Programs run inside the sandbox. The exit status and the directory of commands in shells stay exact."""
    os.makedirs("/srv", exist_ok=True)
    async with ruled(f'[spawn]\nallow = ["bash", "zsh", "fish", "sh", "dash"]\nwrap = {SANDBOX}\n') as (s, _):
        sid = await s.sh("ls /sys/class/net; cat /proc/net/dev | wc -l; touch /usr/FORGED; echo ALL DONE; exec cat")
        await s.wait(sid, "ALL DONE", since="screen")
        text = await s.text(sid)
        expect("Read-only" in text or "read-only" in text.lower(), "a read-only file system", text)
        await denied(s, "spawn.allow", "spawn", command="cat")
        for words in (("bash",), ("bash", "--norc"), ("zsh", "-f"), ("fish",), ("dash", "-i")):
            sid = await s.spawn(*words)
            expect(await ready(s, sid) == "met", "a prompt", words)
            fields(await s.ok("run_command", session_id=sid, command="echo inside; false"), output="inside", exit_code=1)
            result = await s.ok("run_command", session_id=sid, command=f"sh -c \"printf '\\\\033]133;D;0;aid=%s;cwd=/forged\\\\007' $__awaitty_n; sleep 0.2; exit 3\"")
            expect(result["exit_code"] == 3 and result.get("cwd") != "/forged", f"the real status in {words}", result)
            expect((await s.close(sid)).get("closed"), "the session to be closed", sid)


def entries(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


@check(server=False)
async def policy_audit_log():
    """The log has each call with its caller and its outcome, and no secrets."""
    secret = "hunter2-geheim-4711"
    async with ruled('[audit]\nfile = "audit.log"\n[tools]\ndeny = ["screenshot"]\n', env={"AWAITTY_SECRET_TOKEN": secret}) as (s, directory):
        path = os.path.join(directory, "audit.log")
        sid = await s.spawn("bash", "--norc", env={"API_KEY": secret}, name="audited")
        await ready(s, sid)
        await s.send(sid, f'{PYTHON} -c "{READ_HIDDEN}"\n', wait={"ready": True, "timeout_ms": 20_000})
        await s.ok("send_input", session_id=sid, input="my-own-password\n", wait={"text": "GOT .*"})
        await s.ok("send_input", session_id=sid, input=f"echo {secret}\n")
        await s.ok("wait_for_text", session_id=sid, pattern="NEVER", timeout_ms=1)
        await denied(s, "tools.deny", "screenshot", session_id=sid)
        await s.session.read_resource(f"screen://{sid}")
        seq = (await s.ok("snapshot", session_id=sid))["seq"]
        for _ in range(100):
            logged = entries(path)
            if logged and logged[-1].get("seq") == seq and logged[-1]["tool"] == "snapshot":
                break
            await asyncio.sleep(0.02)
        outcomes = {(one["tool"], one["outcome"]) for one in logged}
        wanted = {("spawn", "ok"), ("send_input", "met"), ("wait_for_text", "timeout"), ("screenshot", "denied"), ("resources/read", "ok"), ("snapshot", "ok")}
        expect(wanted <= outcomes, "all calls with their outcomes", sorted(outcomes))
        via = "http" if harness.TRANSPORT == "http" else "stdio"
        expect(all(one["who"]["via"] == via and one["who"]["client"] for one in logged), "the caller", logged[0])
        expect(stat.S_IMODE(os.stat(path).st_mode) == 0o600, "a private file", oct(os.stat(path).st_mode))
        text = open(path).read()
        expect(secret not in text and "my-own-password" not in text, "no secret", text)
        expect("API_KEY" in text and "READ_HIDDEN" not in text, "names of variables", text[:500])


@check(server=False, backends=("pty",), transports=("stdio",), limit=60)
async def policy_by_the_command_line():
    """A daemon that the command line starts has the policy, and `policy check` reports mistakes in a policy."""
    with tempfile.TemporaryDirectory(prefix="awaitty-rules-", ignore_cleanup_errors=True) as directory:
        path = os.path.join(directory, "policy.toml")
        with open(path, "w") as file:
            file.write('[spawn]\nallow = ["cat", "env"]\nenv = "minimal"\n[audit]\nfile = "audit.log"\n')
        env = {**os.environ, "HOME": HOME, "XDG_RUNTIME_DIR": directory, "AWAITTY_POLICY": "policy.toml", "OPENAI_API_KEY": "hunter2"}
        run = lambda *words: subprocess.run([harness.SERVER, *words], env=env, cwd=directory, capture_output=True, text=True, timeout=20)
        try:
            expect(run("spawn", "--json", "cat").returncode == 0, "a program that is allowed", "1")
            # The rules for variables also apply to those of the caller.
            printed = run("spawn", "--env", "ADDED=too", "--wait-exit", "--", "env").stdout
            expect("ADDED=too" in printed and "OPENAI_API_KEY" not in printed, "a minimal environment", printed)
            refused = run("spawn", "--json", "dash")
            expect(refused.returncode == 1 and json.loads(refused.stdout)["code"] == "denied", "a denial", refused.stdout)
        finally:
            run("daemon", "stop")
        logged = [(one["tool"], one["outcome"], one["who"]["via"]) for one in entries(os.path.join(directory, "audit.log"))]
        expect(("spawn", "denied", "socket") in logged, "the denial in the log", logged)
        expect(run("policy", "check", "policy.toml").returncode == 0, "a valid file", "1")
        rules = json.loads(run("policy", "check", "policy.toml", "--json").stdout)
        expect(rules["valid"] and rules["rules"]["spawn.allow"] == "cat, env", "its rules", rules)
        with open(path, "w") as file:
            file.write('[spawn]\nallow = ["cat"]\nenv = "none"\n')
        wrong = run("policy", "check", "policy.toml")
        expect(wrong.returncode == 1 and "line 3" in wrong.stderr and "minimal" in wrong.stderr, "the line and the values", wrong.stderr)
        refused = subprocess.run([harness.SERVER, "mcp", "--policy", path], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
        expect(refused.returncode == 1 and "line 3" in refused.stderr, "no server with an invalid policy", refused.stderr)
