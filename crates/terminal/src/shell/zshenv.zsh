# awaitty's .zshenv: the first of three files in a directory of awaitty's own, to
# which ZDOTDIR points when zsh starts. Each restores the user's ZDOTDIR, sources
# the user's file of the same name, and stores the resulting ZDOTDIR.
#
# AWAITTY_ZDOTDIR_OURS is that directory, AWAITTY_ZDOTDIR the user's ZDOTDIR if
# there was one. The user's file may set any option, so this uses plain scalars
# only; it is one block, as zsh parses that before the user's aliases exist.
if [[ -n ${AWAITTY_ZDOTDIR_OURS-} ]]; then
  \builtin typeset -g __awaitty_ours="$AWAITTY_ZDOTDIR_OURS" __awaitty_zdotdir=
  \builtin typeset -g +x __awaitty_ours __awaitty_zdotdir
  if [[ -n ${AWAITTY_NONCE_FILE-} ]]; then
    \builtin typeset -g +x AWAITTY_NONCE
    \builtin read -r AWAITTY_NONCE <"$AWAITTY_NONCE_FILE"
    \builtin : >|"$AWAITTY_NONCE_FILE"
    \builtin unset AWAITTY_NONCE_FILE
  fi 2>/dev/null
  if [[ -n ${AWAITTY_ZDOTDIR+x} ]]; then
    \builtin export ZDOTDIR="$AWAITTY_ZDOTDIR"
  else
    \builtin unset ZDOTDIR
  fi
  \builtin unset AWAITTY_ZDOTDIR AWAITTY_ZDOTDIR_OURS
  if [[ -r ${ZDOTDIR-$HOME}/.zshenv ]]; then \builtin source "${ZDOTDIR-$HOME}/.zshenv"; fi
  if [[ -o interactive && -o rcs ]]; then
    __awaitty_zdotdir="${ZDOTDIR+=$ZDOTDIR}" # '' for unset, else '=value'
    ZDOTDIR="$__awaitty_ours"
  else
    \builtin unset __awaitty_ours __awaitty_zdotdir # no more of our files will be read
  fi
fi
