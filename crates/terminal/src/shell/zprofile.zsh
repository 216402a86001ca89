# awaitty's .zprofile: sources the user's, with the user's ZDOTDIR (see .zshenv),
# and sets ZDOTDIR to awaitty's directory again for .zshrc.
if [[ -n ${__awaitty_ours-} ]]; then
  if [[ -n $__awaitty_zdotdir ]]; then ZDOTDIR="${__awaitty_zdotdir#=}"; else \builtin unset ZDOTDIR; fi
  if [[ -r ${ZDOTDIR-$HOME}/.zprofile ]]; then \builtin source "${ZDOTDIR-$HOME}/.zprofile"; fi
  if [[ -o rcs ]]; then
    __awaitty_zdotdir="${ZDOTDIR+=$ZDOTDIR}"
    ZDOTDIR="$__awaitty_ours"
  else
    \builtin unset __awaitty_ours __awaitty_zdotdir
  fi
fi
