# awaitty's integration for dash and other POSIX shells: marks around the prompt.
#
# Used in two ways: as the file that ENV names (AWAITTY_ENV_OURS is set then, and
# AWAITTY_ENV is the user's ENV, if there was one), or as an argument of `eval` in
# a running shell.
#
# These shells have no hooks. The prompt is expanded each time it is printed, so
# the end mark of a command (D) is a part of it; command substitution would lose
# $?. The start mark (C) is printed by __awaitty_c, which awaitty types before a
# command. The marks are in `${__awaitty_n:+...}`, so that a nested shell which
# inherits an exported PS1 prints none. Marks go to stderr, where prompts go.
# The nonce is in a file that the script empties, and not in the environment,
# which stays readable in /proc. In a running shell it is a variable.
case $-,${AWAITTY_NONCE_FILE:+f} in
*i*,f)
  \read -r AWAITTY_NONCE <"$AWAITTY_NONCE_FILE"
  # In a sandbox the file may be read-only. With `command`, a failed redirection does not end this script.
  { \command \: >|"$AWAITTY_NONCE_FILE"; } 2>/dev/null
  \unset AWAITTY_NONCE_FILE
  ;;
esac
case $-,${AWAITTY_NONCE:+n} in
*i*,n)
  __awaitty_n=$AWAITTY_NONCE
  \unset AWAITTY_NONCE

  # Source the user's file. POSIX has the value of ENV expanded.
  case ${AWAITTY_ENV_OURS:+s},${AWAITTY_ENV+e} in
  s,e)
    \export ENV="$AWAITTY_ENV"
    \unset AWAITTY_ENV_OURS AWAITTY_ENV
    \eval "__awaitty_env=\"$ENV\""
    if \command test -r "$__awaitty_env"; then \. "$__awaitty_env"; fi
    \unset __awaitty_env
    ;;
  s,) \unset AWAITTY_ENV_OURS ENV ;;
  esac

  # Prints C and keeps $?.
  __awaitty_c() {
    __awaitty_status=$?
    \command printf '\033]133;C;aid=%s\007' "$__awaitty_n" >&2
    \return "$__awaitty_status"
  }

  # ESC and BEL.
  __awaitty_e=$(\command printf '\033') __awaitty_b=$(\command printf '\007')
  __awaitty_a="\${__awaitty_n:+$__awaitty_e]133;D;\$?;aid=\$__awaitty_n;dir=\${PWD-}$__awaitty_b$__awaitty_e]133;A;aid=\$__awaitty_n$__awaitty_b}"
  __awaitty_z="\${__awaitty_n:+$__awaitty_e]133;B;aid=\$__awaitty_n$__awaitty_b}"
  __awaitty_k="\${__awaitty_n:+$__awaitty_e]133;A;k=s;aid=\$__awaitty_n$__awaitty_b}"
  case ${PS1-} in *"$__awaitty_z"*) ;; *) PS1=$__awaitty_a${PS1-}$__awaitty_z ;; esac
  case ${PS2-} in *"$__awaitty_k"*) ;; *) PS2=$__awaitty_k${PS2-} ;; esac
  \unset __awaitty_e __awaitty_b __awaitty_a __awaitty_z __awaitty_k
  ;;
esac
