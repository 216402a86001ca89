//! Prompts for the usual ways to work with a terminal.

use rmcp::model::{Prompt, PromptArgument};

struct Flow {
    name: &'static str,
    about: &'static str,
    argument: &'static str,
    asks: &'static str,
    text: &'static str,
}

const FLOWS: [Flow; 3] = [
    Flow {
        name: "run_and_watch",
        about: "Run a long command and report when it is done",
        argument: "command",
        asks: "The command to run",
        text: "Run `{}` in a terminal and report how it ended.\n\
               1. spawn a shell with wait {\"settled\": 300}.\n\
               2. send_input the command, followed by `; awaitty signal done --status $?`, and Enter.\n\
               3. wait_for_channel \"done\" with the session_id: status is the command's exit status. If it times \
               out, look at `why` and at the screen before you wait again.\n\
               4. read_output gives the lines; search_output finds errors in them. Then close_session.",
    },
    Flow {
        name: "drive_full_screen_program",
        about: "Work with a full-screen program, a key at a time",
        argument: "command",
        asks: "The program to start",
        text: "Start `{}` with spawn and wait {\"settled\": 300}, and work with it.\n\
               Send keys with send_input and wait {\"settled\": 150}: each answer shows only the rows that changed, \
               and `selection` in snapshot is the highlighted entry. Never send two keys without looking if the \
               second depends on the first. Leave with the program's own quit key, then wait_for_exit.",
    },
    Flow {
        name: "find_out_what_it_waits_for",
        about: "Find out why a session does not go on",
        argument: "session_id",
        asks: "The session",
        text: "Session {} does not go on. Find out why.\n\
               1. snapshot it: is there a question, a prompt, a pager, an error?\n\
               2. wait_for_screen_change with timeout_ms 2000: `why` says whether the program is busy, waits for \
               input, or has exited, and which rows keep changing.\n\
               3. read_output for what went off the screen. Say what you found before you type anything.",
    },
];

/// The prompts there are.
pub(super) fn list() -> Vec<Prompt> {
    let prompt = |flow: &Flow| {
        let argument =
            PromptArgument::new(flow.argument).with_description(flow.asks).with_required(true);
        Prompt::new(flow.name, Some(flow.about), Some(vec![argument]))
    };
    FLOWS.iter().map(prompt).collect()
}

/// The text of a prompt; what is wrong, if there is no such prompt or its argument is missing.
pub(super) fn get(
    name: &str,
    argument: impl FnOnce(&str) -> Option<String>,
) -> Result<String, String> {
    let Some(flow) = FLOWS.iter().find(|flow| flow.name == name) else {
        let names: Vec<&str> = FLOWS.iter().map(|flow| flow.name).collect();
        return Err(format!("there is no prompt {name:?}: there are {}", names.join(", ")));
    };
    let given = argument(flow.argument)
        .ok_or_else(|| format!("the argument {:?} is needed: {}", flow.argument, flow.asks))?;
    Ok(flow.text.replacen("{}", &given, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_take_their_argument() {
        let text = get("run_and_watch", |_| Some("make test".to_owned())).expect("it is there");
        assert!(text.contains("`make test`"));
        assert!(get("nope", |_| None).is_err_and(|error| error.contains("run_and_watch")));
        assert!(get("run_and_watch", |_| None).is_err_and(|error| error.contains("command")));
    }
}
