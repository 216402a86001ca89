# awaitty's integration for bash >= 4.4: marks the start and end of each command.
#
# Used in two ways: as `bash --rcfile` (AWAITTY_RC is set, and the user's own
# start-up files are sourced first), or as an argument of `eval` in a running
# shell. Hence one `if` block and no `return`; bash also parses the block as a
# whole, so aliases from the user's files do not apply in it. (The argument of
# `eval` may have no comments. All comments are whole lines, so they can be
# removed.)
#
# - The end mark (D) is printed at the head of PROMPT_COMMAND, the start mark (C)
#   by PS0: the DEBUG trap belongs to the user. It fires for simple commands, and
#   its output would look like output of the user's command; so the code that
#   runs at each prompt consists of subshells and redirections only.
# - The prompts contain `${__awaitty_n:+...}` and not the marks themselves: a
#   nested shell that inherits an exported PS1 prints no marks and sees no nonce.
# - Marks go to stderr, where bash writes its prompts.
# - No code may assume that set -e, -u, -x, -T or -a is off.
# - The nonce is in a file that the script empties, and not in the environment,
#   which stays readable in /proc. In a running shell it is a variable.
if [[ $- == *i* && -n ${AWAITTY_NONCE-}${AWAITTY_NONCE_FILE-} ]]; then
  __awaitty_n=${AWAITTY_NONCE-}
  if [[ -n ${AWAITTY_NONCE_FILE-} ]]; then
    \builtin read -r __awaitty_n <"$AWAITTY_NONCE_FILE"
    \builtin : >|"$AWAITTY_NONCE_FILE"
  fi 2>/dev/null
  \builtin unset -v AWAITTY_NONCE AWAITTY_NONCE_FILE

  # Source the user's start-up files as bash would.
  if [[ -n ${AWAITTY_RC+x} ]]; then
    __awaitty_rc=$AWAITTY_RC __awaitty_login=${AWAITTY_LOGIN-}
    \builtin unset -v AWAITTY_RC AWAITTY_LOGIN
    if [[ $__awaitty_login == 1 ]]; then
      if [[ -r /etc/profile ]]; then \builtin source /etc/profile; fi
      if [[ -r ~/.bash_profile ]]; then
        \builtin source ~/.bash_profile
      elif [[ -r ~/.bash_login ]]; then
        \builtin source ~/.bash_login
      elif [[ -r ~/.profile ]]; then
        \builtin source ~/.profile
      fi
    else
      __awaitty_rc=${__awaitty_rc:-~/.bashrc}
      if [[ -r $__awaitty_rc ]]; then \builtin source "$__awaitty_rc"; fi
    fi
    \builtin unset -v __awaitty_rc __awaitty_login
  fi

  # Under set -a, these definitions would be exported.
  __awaitty_allexport=
  if [[ $- == *a* ]]; then
    __awaitty_allexport=1
    \builtin set +a
    \builtin export -n __awaitty_n __awaitty_allexport
  fi

  # Prints D. Runs in a subshell; succeeds if __awaitty_disarm has to run.
  __awaitty_done() {
    \builtin local dir="${PWD-}"
    dir=${dir//'%'/%25}
    dir=${dir//$'\e'/%1B}
    dir=${dir//$'\a'/%07}
    dir=${dir//$'\n'/%0A}
    \builtin printf '\e]133;D;%s;aid=%s;cwd=%s\a' "$__awaitty_status" "$__awaitty_n" "$dir" >&2
    [[ -n ${__awaitty_armed-} ]]
  }

  # Bound to ESC[20107~: prints Y on fd 9 if the edit line is empty, else X
  # (stdout and stderr are closed, as a DEBUG trap or set -x would write on the
  # edit line). Two variables, and not options, keep a delivered line out of the
  # history and of history expansion, so that a delivered `set +H` has an effect.
  __awaitty_arm() {
    if [[ -n ${READLINE_LINE-} ]]; then
      \builtin printf '\e]133;X;aid=%s\a' "$__awaitty_n" >&9
      \builtin return 0
    fi
    if [[ -z ${__awaitty_armed-} ]]; then
      __awaitty_armed=1
      # '' for unset, else '=value'; a nested shell must not inherit '*'.
      __awaitty_ignore=${HISTIGNORE+=$HISTIGNORE}
      __awaitty_ignore_x=${HISTIGNORE+${HISTIGNORE@a}}
      __awaitty_chars=${histchars+=$histchars}
      HISTIGNORE='*' histchars=
      \builtin export -n HISTIGNORE
    fi
    \builtin printf '\e]133;Y;aid=%s\a' "$__awaitty_n" >&9
  }

  # Undoes __awaitty_arm, except for variables that the command itself has changed.
  __awaitty_disarm() {
    __awaitty_armed=
    if [[ ${HISTIGNORE-} == '*' ]]; then
      if [[ -n $__awaitty_ignore ]]; then HISTIGNORE=${__awaitty_ignore#=}; else \builtin unset -v HISTIGNORE; fi
      if [[ $__awaitty_ignore_x == *x* ]]; then \builtin export HISTIGNORE; fi
    fi
    if [[ -n ${histchars+x} && -z $histchars ]]; then
      if [[ -n $__awaitty_chars ]]; then histchars=${__awaitty_chars#=}; else \builtin unset -v histchars; fi
    fi
  }

  # Succeeds if a prompt or PROMPT_COMMAND was changed since __awaitty_wrap.
  __awaitty_stale() {
    [[ ${PS1-} != "$__awaitty_ps1_a"*"$__awaitty_ps1_b" || ${PS2-} != "$__awaitty_ps2_a"* ||
      ${PS0-} != *"$__awaitty_ps0" || ${PROMPT_COMMAND-} != "$__awaitty_head"* ||
      ${PROMPT_COMMAND[@]: -1} != *"$__awaitty_tail" ]]
  }

  # Adds the marks around the prompts, and the head and tail to PROMPT_COMMAND: the
  # head in front of its first (or only) string, so that a later assignment to
  # PROMPT_COMMAND has its usual effect on the user's part, and the tail as the
  # last element, or before bash 5.1 as the last line.
  __awaitty_wrap() {
    \builtin local nl=$'\n' i text
    \builtin local -a all
    all=()
    PS0=${PS0-} PS1=${PS1-} PS2=${PS2-}
    PS0=${PS0//"$__awaitty_ps0"/}$__awaitty_ps0
    PS1=${PS1//"$__awaitty_ps1_a"/}
    PS1=$__awaitty_ps1_a${PS1//"$__awaitty_ps1_b"/}$__awaitty_ps1_b
    PS2=$__awaitty_ps2_a${PS2//"$__awaitty_ps2_a"/}
    for i in "${!PROMPT_COMMAND[@]}"; do
      text=${PROMPT_COMMAND[i]}
      text=${text//"$__awaitty_head$nl"/}
      text=${text//"$__awaitty_head"/}
      text=${text//"$nl$__awaitty_tail"/}
      text=${text//"$__awaitty_tail"/}
      if [[ -n $text ]]; then all+=("$text"); fi
    done
    text=$__awaitty_head
    if ((${#all[@]})); then text+=$nl${all[0]}; fi
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
      PROMPT_COMMAND=("$text" "${all[@]:1}" "$__awaitty_tail")
    else
      PROMPT_COMMAND=$text$nl$__awaitty_tail
    fi
  }

  if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    # The marks as prompt escapes. PS1 has a D too, marked as a repetition (k=r):
    # it counts when PROMPT_COMMAND was interrupted or removed.
    if \builtin shopt -q promptvars; then
      __awaitty_ps0='${__awaitty_n:+\e]133;C;aid=$__awaitty_n\a}'
      __awaitty_ps1_a='\[${__awaitty_n:+\e]133;D;$?;k=r;aid=$__awaitty_n\a\e]133;A;aid=$__awaitty_n\a}\]'
      __awaitty_ps1_b='\[${__awaitty_n:+\e]133;B;aid=$__awaitty_n\a}\]'
      __awaitty_ps2_a='\[${__awaitty_n:+\e]133;A;k=s;aid=$__awaitty_n\a}\]'
    else
      __awaitty_ps0="\\e]133;C;aid=$__awaitty_n\\a"
      __awaitty_ps1_a="\\[\\e]133;A;aid=$__awaitty_n\\a\\]"
      __awaitty_ps1_b="\\[\\e]133;B;aid=$__awaitty_n\\a\\]"
      __awaitty_ps2_a="\\[\\e]133;A;k=s;aid=$__awaitty_n\\a\\]"
    fi

    # The head and tail of PROMPT_COMMAND. The redirection (of 2 to 2) stores $?
    # without a simple command; the last line of the head restores it, with an &&
    # so that set -e does not exit. Each subshell first turns off traces and traps.
    __awaitty_quiet='{ \builtin set +x; \builtin trap - DEBUG; \builtin trap "" INT; } >/dev/null 2>&1'
    __awaitty_head="if ( $__awaitty_quiet; __awaitty_done ); then __awaitty_disarm; fi 2>&\"\$((__awaitty_status=\$?,2))\"
( \\builtin exit \$__awaitty_status ) >/dev/null 2>&1 && ( \\builtin : ) >/dev/null 2>&1"
    __awaitty_tail="if ( $__awaitty_quiet; __awaitty_stale ); then __awaitty_wrap; fi"
    \builtin unset -v __awaitty_quiet
    __awaitty_wrap

    # Delivery: the keys that ask, paste without interpreting any key, and accept.
    for __awaitty_map in emacs vi-insert vi-command; do
      \builtin bind -m "$__awaitty_map" -x '"\e[20107~": { __awaitty_arm "$_"; } 9>&2 >/dev/null 2>&1' || \builtin :
      \builtin bind -m "$__awaitty_map" '"\e[20108~": bracketed-paste-begin' || \builtin :
      \builtin bind -m "$__awaitty_map" '"\e[20109~": accept-line' || \builtin :
    done 2>/dev/null
    \builtin unset -v __awaitty_map
  fi
  if [[ -n $__awaitty_allexport ]]; then \builtin set -a; fi
fi
