//! MCP prompts for common terminal workflows.

use rmcp::model::{Prompt, PromptArgument};

struct Template {
    name: &'static str,
    description: &'static str,
    argument: &'static str,
    argument_description: &'static str,
    text: &'static str,
}

const TEMPLATES: [Template; 3] = [
    Template {
        name: "run_and_watch",
        description: "Run a long command and report when it is done",
        argument: "command",
        argument_description: "The command to run",
        text: "Run `{}` in a terminal and report how it ended.\n\
               1. spawn a shell with wait {\"settled\": 300}.\n\
               2. send_input the command, followed by `; awaitty signal done --status $?`, and Enter.\n\
               3. wait_for_channel \"done\" with the session_id: status is the command's exit status. If it times \
               out, look at `why` and at the screen before you wait again.\n\
               4. read_output gives the lines; search_output finds errors in them. Then close_session.",
    },
    Template {
        name: "drive_full_screen_program",
        description: "Work with a full-screen program, a key at a time",
        argument: "command",
        argument_description: "The program to start",
        text: "Start `{}` with spawn and wait {\"settled\": 300}, and work with it.\n\
               Send keys with send_input and wait {\"settled\": 150}: each result shows only the rows that changed, \
               and `selection` in snapshot is the highlighted entry. Never send two keys without looking if the \
               second depends on the first. Leave with the program's own quit key, then wait_for_exit.",
    },
    Template {
        name: "find_out_what_it_waits_for",
        description: "Find out why a session makes no progress",
        argument: "session_id",
        argument_description: "The session",
        text: "Session {} makes no progress. Find out why.\n\
               1. snapshot it: is there a question, a prompt, a pager, an error?\n\
               2. wait_for_screen_change with timeout_ms 2000: `why` says whether the program is busy, waits for \
               input, or has exited, and which rows keep changing.\n\
               3. read_output for lines that scrolled off the screen. Report what you found before you type anything.",
    },
];

/// Returns all prompts.
pub(super) fn list() -> Vec<Prompt> {
    let prompt = |template: &Template| {
        let argument = PromptArgument::new(template.argument)
            .with_description(template.argument_description)
            .with_required(true);
        Prompt::new(template.name, Some(template.description), Some(vec![argument]))
    };
    TEMPLATES.iter().map(prompt).collect()
}

/// Returns the text of a prompt; an error message if the prompt is unknown or its argument is missing.
pub(super) fn get(
    name: &str,
    argument: impl FnOnce(&str) -> Option<String>,
) -> Result<String, String> {
    let Some(template) = TEMPLATES.iter().find(|template| template.name == name) else {
        let names: Vec<&str> = TEMPLATES.iter().map(|template| template.name).collect();
        return Err(format!("prompt {name:?} does not exist: use one of {}", names.join(", ")));
    };
    let given = argument(template.argument).ok_or_else(|| {
        format!("argument {:?} is missing: {}", template.argument, template.argument_description)
    })?;
    Ok(template.text.replacen("{}", &given, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_take_their_argument() {
        let text = get("run_and_watch", |_| Some("make test".to_owned())).expect("a known prompt");
        assert!(text.contains("`make test`"));
        assert!(get("nope", |_| None).is_err_and(|error| error.contains("run_and_watch")));
        assert!(get("run_and_watch", |_| None).is_err_and(|error| error.contains("command")));
    }
}
