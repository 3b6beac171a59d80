/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Roost authors
 */
#include "apps/top_screen.h"

#include <ncurses.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apps/top_text.h"

#define REDRAW 0x0c /* Ctrl-L */

static struct {
	SCREEN *terminal;
	char *title, *text;
	int first; /* line of the text that is shown first */
} screen;

bool roost_top_screen_open(void)
{
	screen.terminal = newterm(NULL, stdout, stdin);
	if (!screen.terminal)
		return false;
	set_term(screen.terminal);
	cbreak();
	noecho();
	curs_set(0);
	keypad(stdscr, TRUE);
	return true;
}

void roost_top_screen_close(void)
{
	endwin();
	delscreen(screen.terminal);
	free(screen.title);
	free(screen.text);
	memset(&screen, 0, sizeof(screen));
}

static int count_lines(const char *text)
{
	int nb = 0;

	for (; *text; text++)
		nb += *text == '\n';
	return nb;
}

/* Lines that are wider than the terminal are cut off. */
static void put_line(int y, const char *line, int len)
{
	const bool names = len > 0 && *line == ROOST_TOP_NAMES;

	if (names)
		attron(A_REVERSE);
	mvaddnstr(y, 0, line + names, len - names < COLS ? len - names : COLS);
	/* The bar goes to the edge. */
	for (int x = len - names; names && x < COLS; x++)
		addch(' ');
	if (names)
		attroff(A_REVERSE);
}

static void draw(void)
{
	const char *line = screen.text ? screen.text : "";
	const int last = count_lines(line) - (LINES - 2);
	int y = 2 - screen.first;

	if (screen.first > last)
		screen.first = last;
	if (screen.first < 0)
		screen.first = 0;
	y = 2 - screen.first;
	erase();
	mvaddnstr(0, 0, screen.title ? screen.title : "", COLS);
	for (; *line && y < LINES; y++) {
		const size_t len = strcspn(line, "\n");

		if (y >= 2)
			put_line(y, line, (int)len);
		line += len + (line[len] == '\n');
	}
	refresh();
}

bool roost_top_screen_show(const char *title, const char *text)
{
	char *copies[2] = { strdup(title), strdup(text) };

	if (!copies[0] || !copies[1]) {
		free(copies[0]);
		free(copies[1]);
		return false;
	}
	free(screen.title);
	free(screen.text);
	screen.title = copies[0];
	screen.text = copies[1];
	draw();
	return true;
}

static unsigned int now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned int)now.tv_sec * 1000u +
	       (unsigned int)(now.tv_nsec / 1000000);
}

/* Returns false: quit. */
static bool take_key(int key)
{
	switch (key) {
	case 'q':
	case 'Q':
		return false;
	case KEY_DOWN:
		screen.first++;
		break;
	case KEY_UP:
		screen.first--;
		break;
	case KEY_NPAGE:
	case ' ':
		screen.first += LINES - 3;
		break;
	case KEY_PPAGE:
		screen.first -= LINES - 3;
		break;
	case KEY_HOME:
		screen.first = 0;
		break;
	case REDRAW:
		clearok(curscr, TRUE);
		break;
	default: /* another size, too */
		break;
	}
	draw();
	return true;
}

bool roost_top_screen_wait(unsigned int ms)
{
	const unsigned int begin = now_ms();
	unsigned int passed;

	while ((passed = now_ms() - begin) < ms) {
		int key;

		timeout((int)(ms - passed));
		key = getch();
		if (key != ERR && !take_key(key))
			return false;
	}
	return true;
}
