# awaitty's integration for zsh: marks the start and end of each command.
#
# Used in two ways: as .zshrc in a directory of awaitty's own (see .zshenv; the
# user's .zshrc is sourced first), or as an argument of `eval` in a running shell.
# Hence blocks and no `return`; zsh also parses each block as a whole, so aliases
# from the user's files do not apply in it.
#
# - The end mark (D) is a part of PROMPT_EOL_MARK, which zsh prints before any
#   hook runs. The first precmd hook prints it again, with the directory, and for
#   users who have turned PROMPT_SP off. The last preexec hook prints the start
#   mark (C). Other hooks are kept; ours are moved back into place at each prompt.
# - Marks are written to the terminal, as zsh's prompts are, not to stdout.

# The nonce comes first, so that programs started by the user's .zshrc do not see it.
if [[ -o interactive && -n ${AWAITTY_NONCE-} ]]; then
  \builtin typeset -g __awaitty_n="$AWAITTY_NONCE" __awaitty_chars= __awaitty_hide= __awaitty_comments=
  \builtin typeset -g +x __awaitty_n
  \builtin unset AWAITTY_NONCE

  # Prints D.
  __awaitty_precmd() {
    __awaitty_end $?
    __awaitty_disarm
  }
  __awaitty_end() {
    \builtin emulate -L zsh
    \builtin local dir="${PWD//\%/%25}"
    dir="${${${dir//$'\e'/%1B}//$'\a'/%07}//$'\n'/%0A}"
    \builtin print -rn -- $'\e]133;D;'"$1;aid=$__awaitty_n;cwd=$dir"$'\a' >/dev/tty
  }

  # Prints C, after all other hooks.
  __awaitty_preexec() {
    __awaitty_disarm
    __awaitty_begin "${1:-$3}"
  }
  __awaitty_begin() {
    \builtin emulate -L zsh
    __awaitty_hooks
    \builtin print -rn -- $'\e]133;C;aid='"$__awaitty_n;cmd=${1[1,200]//[[:cntrl:]]/ }"$'\a' >/dev/tty
  }

  # The last precmd hook: adds A and B around the prompt, if they are missing. The
  # prompts are not exported: nested shells would print the marks.
  __awaitty_prompt() {
    \builtin emulate -L zsh
    \builtin local a=$'%{\e]133;A;aid='"$__awaitty_n"$'\a%}' b=$'%{\e]133;B;aid='"$__awaitty_n"$'\a%}'
    \builtin local k=$'%{\e]133;A;k=s;aid='"$__awaitty_n"$'\a%}' d=$'%{\e]133;D;%?;aid='"$__awaitty_n"$'\a%}'
    if [[ $PS1 != "$a"*"$b" ]]; then
      PS1="${PS1//"$a"/}"
      PS1="$a${PS1//"$b"/}$b"
    fi
    if [[ $PS2 != "$k"* ]]; then PS2="$k${PS2//"$k"/}"; fi
    if [[ ${PROMPT_EOL_MARK-} != "$d"* ]]; then
      \builtin typeset -g PROMPT_EOL_MARK="$d${${PROMPT_EOL_MARK-%B%S%#%s%b}//"$d"/}"
    fi
    \builtin typeset -g +x PS1 PS2 PROMPT_EOL_MARK
    __awaitty_hooks
  }
  __awaitty_hooks() {
    \builtin emulate -L zsh
    \builtin typeset -ga precmd_functions preexec_functions zshaddhistory_functions
    if [[ $precmd_functions[1] != __awaitty_precmd || $precmd_functions[-1] != __awaitty_prompt ]]; then
      precmd_functions=(__awaitty_precmd ${precmd_functions:#__awaitty_*} __awaitty_prompt)
    fi
    if [[ $preexec_functions[-1] != __awaitty_preexec ]]; then
      preexec_functions=(${preexec_functions:#__awaitty_*} __awaitty_preexec)
    fi
    if [[ $zshaddhistory_functions[-1] != __awaitty_addhistory ]]; then
      zshaddhistory_functions=(${zshaddhistory_functions:#__awaitty_*} __awaitty_addhistory)
    fi
  }

  # Delivery. ESC[20107~ asks (reply Y or X), ESC[20108~ reads the text up to
  # ESC[201~, ESC[20109~ runs it, without history and without history expansion (by
  # removing its characters: zsh reads BANG_HIST before the editor starts; the third
  # character, for comments, stays, though $histchars reads as empty meanwhile), and
  # with comments, which zsh runs as commands at its prompt by default.
  __awaitty_ask() {
    \builtin emulate -L zsh
    \builtin local answer=Y
    if [[ -n $BUFFER$PREBUFFER || $CONTEXT != start ]]; then answer=X; fi
    __awaitty_hooks
    \builtin print -rn -- $'\e]133;'"$answer;aid=$__awaitty_n"$'\a' >/dev/tty
  }
  __awaitty_paste() {
    \builtin emulate -L zsh
    \builtin local text
    \builtin zle .bracketed-paste text
    BUFFER="$text" CURSOR=$#text
  }
  __awaitty_accept() {
    __awaitty_hide=1
    POSTDISPLAY=
    if [[ -z $__awaitty_chars ]]; then
      __awaitty_chars="=$histchars"
      histchars=$'\0\0'"${histchars#??}"
    fi
    if [[ ! -o interactivecomments ]]; then
      __awaitty_comments=1
      \builtin setopt interactivecomments
    fi
    \builtin zle .accept-line
  }
  __awaitty_addhistory() {
    # The && is for ERR_EXIT, which would exit after a plain failure.
    [[ -z $__awaitty_hide ]] && \builtin true
  }
  __awaitty_disarm() {
    __awaitty_hide=
    if [[ -n $__awaitty_chars ]]; then
      if [[ -z $histchars ]]; then histchars="${__awaitty_chars#=}"; fi
      __awaitty_chars=
    fi
    if [[ -n $__awaitty_comments ]]; then
      __awaitty_comments=
      \builtin unsetopt interactivecomments
    fi
  }
fi

# Source the user's .zshrc, with the user's ZDOTDIR, which stays set from here on. A
# system-wide zshrc may have derived HISTFILE from awaitty's directory.
if [[ -n ${__awaitty_ours-} ]]; then
  if [[ -n $__awaitty_zdotdir ]]; then ZDOTDIR="${__awaitty_zdotdir#=}"; else \builtin unset ZDOTDIR; fi
  if [[ ${HISTFILE-} == "$__awaitty_ours"/* ]]; then
    HISTFILE="${ZDOTDIR-$HOME}${HISTFILE#$__awaitty_ours}"
  fi
  \builtin unset __awaitty_ours __awaitty_zdotdir
  if [[ -r ${ZDOTDIR-$HOME}/.zshrc ]]; then \builtin source "${ZDOTDIR-$HOME}/.zshrc"; fi
fi

if [[ -o interactive && -n ${__awaitty_n-} ]]; then
  __awaitty_prompt
  __awaitty_bind() {
    \builtin emulate -L zsh
    \builtin local map name
    for name in ask paste accept; do \builtin zle -N __awaitty_$name; done
    for map in emacs viins vicmd main; do
      \builtin bindkey -M $map '\e[20107~' __awaitty_ask
      \builtin bindkey -M $map '\e[20108~' __awaitty_paste
      \builtin bindkey -M $map '\e[20109~' __awaitty_accept
    done
  }
  __awaitty_bind
  \builtin unfunction __awaitty_bind
fi
