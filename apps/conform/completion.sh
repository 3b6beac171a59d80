# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Roost authors
# shellcheck shell=bash
#
# Completion of roost-conform for bash: its options, as its help prints them,
# and the names of its cases.

_roost_conform() {
	local words
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-i | --interface) words=$(cd /sys/class/net && echo *) ;;
	-a | --address | --limit) words= ;;
	--agent) words=roost-conform-agent ;;
	*) words=$("$1" --help 2>/dev/null | grep -o -e '--[a-z][a-z-]*')
		words+=" $("$1" --list 2>/dev/null | sed 's/ .*//')" ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- \
		"${COMP_WORDS[COMP_CWORD]}")
}

complete -F _roost_conform roost-conform
