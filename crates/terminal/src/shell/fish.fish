# awaitty's integration for fish (3.x, 4.x): marks the start and end of each command.
#
# Used in two ways: sourced after config.fish (`fish -C`), or as an argument of
# `eval` in a running shell.
#
# - Event handlers of fish print C and D, so there are no hooks to chain; D is
#   printed again at each prompt, as there is no postexec after an empty line.
#   Handlers do not change $status and $pipestatus: so one prints A too, and our
#   fish_prompt calls the user's first. A redefined fish_prompt is wrapped again.
# - A delivered command starts with a space, which keeps it out of the history.
if status is-interactive; and set -q AWAITTY_NONCE_FILE
    # Not in the environment, which stays readable in /proc.
    builtin read -gu AWAITTY_NONCE <$AWAITTY_NONCE_FILE
    # In a sandbox the file may be read-only.
    begin; builtin echo -n >$AWAITTY_NONCE_FILE; end 2>/dev/null
    set -e AWAITTY_NONCE_FILE
end
if status is-interactive; and test -n "$AWAITTY_NONCE"
    set -gu __awaitty_n $AWAITTY_NONCE
    set -e AWAITTY_NONCE

    function __awaitty_end --on-event fish_postexec
        set -l code $status
        set -l dir (builtin string replace -a % %25 -- $PWD | builtin string replace -a \e %1B | builtin string replace -a \a %07 | builtin string join %0A)
        builtin printf '\e]133;D;%s;aid=%s;cwd=%s\a' $code $__awaitty_n $dir
    end

    function __awaitty_prompt --on-event fish_prompt
        __awaitty_end
        if not builtin string match -q '*__awaitty_user_prompt*' -- (builtin functions fish_prompt)
            builtin functions -e __awaitty_user_prompt
            builtin functions -c fish_prompt __awaitty_user_prompt
            function fish_prompt
                __awaitty_user_prompt
                builtin printf '\e]133;B;aid=%s\a' $__awaitty_n
            end
        end
        if not builtin functions -q __awaitty_begin
            # Defined at the first prompt: handlers run in the order of their
            # definition, and this one must run after those of fish itself.
            function __awaitty_begin --on-event fish_preexec
                set -l text (builtin string replace -r '^ ' '' -- "$argv[1]" | builtin string join ' ')
                set text (builtin string sub -l 200 -- "$text" | builtin string replace -ar '[[:cntrl:]]' ' ')
                builtin printf '\e]133;C;aid=%s;cmd=%s\a' $__awaitty_n "$text"
            end
        end
        builtin printf '\e]133;A;aid=%s\a' $__awaitty_n
    end

    # Delivery. ESC[20107~ asks (reply Y or X). The text is URL-encoded and sent as one
    # or more pastes, because a paste drops tabs and is slow at quotes and backslashes;
    # after each paste, ESC[20108~ takes the text off the line, which keeps the line
    # short. ESC[20109~ decodes and runs it. fish would not run an incomplete or invalid
    # text but leave it on the line. Incomplete text is reported like a continuation
    # prompt, and an empty line is run for a new prompt; invalid text goes to `eval`,
    # which prints the error. fish would take seconds to draw and colour a very long
    # text, so such a text stays in the variable.
    # The cursor moves to the start, or fish would expand an abbreviation at the end.
    function __awaitty_ask
        set -l line (builtin commandline | builtin string collect)
        if builtin test -n "$line"
            builtin printf '\e]133;X;aid=%s\a' $__awaitty_n
        else
            set -g __awaitty_text ''
            builtin printf '\e]133;Y;aid=%s\a' $__awaitty_n
        end
    end
    function __awaitty_take
        set -g __awaitty_text $__awaitty_text(builtin commandline)
        builtin commandline -r ''
    end
    function __awaitty_accept
        set -g __awaitty_text (builtin string unescape --style=url -- $__awaitty_text | builtin string collect)
        if builtin test (builtin string length -- "$__awaitty_text") -gt 8000
            builtin commandline -r -- ' eval $__awaitty_text'
        else
            builtin commandline -r -- " $__awaitty_text"
            builtin commandline --is-valid
            switch $status
                case 1
                    builtin commandline -r -- ' eval '(builtin string escape -- $__awaitty_text)
                case 2
                    builtin commandline -r ''
                    builtin printf '\e]133;A;k=s;aid=%s\a' $__awaitty_n
            end
        end
        builtin commandline -C 0
        builtin commandline -f execute
    end
    for __awaitty_mode in default insert visual replace replace_one
        builtin bind -M $__awaitty_mode \e\[20107~ __awaitty_ask
        builtin bind -M $__awaitty_mode \e\[20108~ __awaitty_take
        builtin bind -M $__awaitty_mode \e\[20109~ __awaitty_accept
    end
    set -e __awaitty_mode
end
