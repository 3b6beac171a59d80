# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
# shellcheck shell=bash
#
# Completion of the commands roost and roostd for bash. The words are those that
# the programs' own help prints, so that a new command or option needs no
# change here.

# _roost_commands PROGRAM [WORD...]: what its help lists under "Commands:".
_roost_commands() {
	"$@" --help 2>/dev/null |
		sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\).*/\1/p'
}

# _roost_options PROGRAM [WORD...]: its help has a line for each.
_roost_options() {
	"$@" --help 2>/dev/null |
		sed -n 's/^ *\(-[a-z], \)\{0,1\}\(--[a-z-]*\).*/\2/p'
}

# _roost_argument OPTION PROGRAM [WORD...]: what the help has behind the option:
# FILE, adaptive|dedicated; nothing: it takes no value.
_roost_argument() {
	local option=$1
	shift
	case $option in
	--*) option="\(-[a-z], \)\{0,1\}$option" ;;
	*) option="\($option, \)--[a-z-]*" ;;
	esac
	"$@" --help 2>/dev/null |
		sed -n "s/^ *$option \([^ ]\{1,\}\) .*/\2/p" | sed -n 1p
}

# _roost_values ARGUMENT PROGRAM: the words that can stand for it.
_roost_values() {
	case $1 in
	DEVARGS) "$2" ports --json 2>/dev/null |
		sed -n 's/.*"port": *"\([^"]*\)".*/\1/p' ;;
	PID) "$2" ctl list --json 2>/dev/null |
		sed -n 's/.*"pid": *\([0-9]*\).*/\1/p' | sort -u ;;
	NAME | FILE | PATH) ;;
	*) printf '%s\n' "${1//|/$'\n'}" | grep '^[a-z]' ;;
	esac
}

# _roost_offer WORD...: those of them that begin as the word at the cursor.
_roost_offer() {
	mapfile -t COMPREPLY < <(compgen -W "$*" -- "${COMP_WORDS[COMP_CWORD]}")
}

# _roost_value OPTION PROGRAM [WORD...]: offer values of the option. Fails: it
# takes none.
_roost_value() {
	local argument
	case $1 in
	-?*) argument=$(_roost_argument "$@") ;;
	*) return 1 ;;
	esac
	[ -n "$argument" ] || return 1
	_roost_offer "$(_roost_values "$argument" "$2")"
	case $argument in
	FILE | *PATH*) _roost_files ;;
	esac
}

_roost_files() {
	local found
	mapfile -t found < <(compgen -f -- "${COMP_WORDS[COMP_CWORD]}")
	COMPREPLY+=("${found[@]}")
	# Outside of a completion, as in a test, there is none to change.
	compopt -o filenames 2>/dev/null || true
}

# Where the command begins that "roost run" starts: behind "--", or at the first
# word that is neither an option nor the value of one, which the cursor may be
# at. 0: there is none yet.
_roost_command_at() {
	local i
	for ((i = 2; i <= COMP_CWORD; i++)); do
		[ "$i" -lt "$COMP_CWORD" ] || case ${COMP_WORDS[i]} in
		-* | "") break ;;
		esac
		case ${COMP_WORDS[i]} in
		--)
			echo $((i + 1))
			return
			;;
		-*)
			[ -z "$(_roost_argument "${COMP_WORDS[i]}" "$1" \
				run)" ] || i=$((i + 1))
			;;
		*)
			echo "$i"
			return
			;;
		esac
	done
	echo 0
}

_roost_run() {
	local at
	at=$(_roost_command_at "$1")
	if [ "$at" -gt 0 ]; then
		if declare -F _command_offset >/dev/null; then
			_command_offset "$at"
		elif [ "$at" -eq "$COMP_CWORD" ]; then
			mapfile -t COMPREPLY < \
				<(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
		else
			_roost_files
		fi
		return
	fi
	_roost_value "${COMP_WORDS[COMP_CWORD - 1]}" "$1" run ||
		_roost_offer "$(_roost_options "$1" run) --"
}

_roost() {
	local command=${COMP_WORDS[1]}
	COMPREPLY=()
	if [ "$COMP_CWORD" -eq 1 ]; then
		_roost_offer "$(_roost_commands "$1") --help --version"
		return
	fi
	case $command in
	run) _roost_run "$1" ;;
	help) _roost_offer "$(_roost_commands "$1")" ;;
	*)
		_roost_value "${COMP_WORDS[COMP_CWORD - 1]}" "$1" "$command" ||
			_roost_offer "$(_roost_options "$1" "$command")" \
				"$(_roost_commands "$1" "$command")"
		;;
	esac
}

_roostd() {
	COMPREPLY=()
	_roost_value "${COMP_WORDS[COMP_CWORD - 1]}" "$1" ||
		_roost_offer "$(_roost_options "$1")"
}

complete -F _roost roost
complete -F _roostd roostd
