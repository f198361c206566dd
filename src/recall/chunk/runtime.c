/* runtime.so: tree-sitter behind the table of syntax.h. Not a part of hookd: tools/grammars.sh compiles it together with
 * tree-sitter's sources.
 *
 * A text is parsed into memory that is given back as a whole. tree-sitter makes a node for each word and would free each of
 * them; here freeing is nothing, which makes parsing about a third faster, and a text that takes too much is noticed by a
 * sum. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <tree_sitter/api.h>

#include "chunk/syntax.h"

enum {
	BLOCK_BYTES = 1 << 20,
	KEPT_BLOCKS = 32, /* between texts */
	ALIGN = 16,
	CLOCK_EVERY = 16, /* of tree-sitter's calls: the clock is a system call */
};

struct block {
	struct block *next;
	size_t size;
	_Alignas(ALIGN) char data[];
};

struct syntax_parser {
	struct block *used, *kept;
	size_t nkept, at, total, most; /* at: in the newest block */
	TSTree *tree;
	TSTreeCursor cursor;
	struct timespec begin;
	uint32_t ms, calls;
};

/* tree-sitter's hooks for memory know no argument. */
static __thread struct syntax_parser *current;

/* -- memory ------------------------------------------------------------------------------------ */

/* In front of what was asked for: realloc() must know how much there is to copy. */
struct piece {
	_Alignas(ALIGN) size_t size;
};

static struct block *fresh_block(struct syntax_parser *p, size_t size)
{
	struct block *b = p->kept;

	if (b && size <= BLOCK_BYTES) {
		p->kept = b->next;
		p->nkept--;
		return b;
	}
	size = size > BLOCK_BYTES ? size : BLOCK_BYTES;
	b = malloc(sizeof *b + size);
	if (!b)
		abort();
	b->size = size;
	return b;
}

static void *take(size_t n)
{
	struct syntax_parser *p = current;
	size_t size = sizeof(struct piece) + ((n + ALIGN - 1) & ~(size_t)(ALIGN - 1));
	struct piece *piece;

	if (n > SIZE_MAX / 2)
		abort();
	if (!p->used || p->used->size - p->at < size) {
		struct block *b = fresh_block(p, size);

		b->next = p->used;
		p->used = b;
		p->at = 0;
		p->total += b->size;
	}
	piece = (struct piece *)(p->used->data + p->at);
	p->at += size;
	piece->size = size - sizeof *piece;
	return piece + 1;
}

static void *take_zeroed(size_t n, size_t size)
{
	if (size && n > SIZE_MAX / 2 / size)
		abort();
	return memset(take(n * size), 0, n * size);
}

static void *take_more(void *old, size_t n)
{
	size_t had = old ? ((struct piece *)old - 1)->size : 0;
	void *more;

	if (old && n <= had)
		return old;
	more = take(n);
	if (old)
		memcpy(more, old, had);
	return more;
}

static void give_back(void *piece)
{
	(void)piece;
}

static void drop_text(struct syntax_parser *p)
{
	while (p->used) {
		struct block *b = p->used;

		p->used = b->next;
		if (b->size == BLOCK_BYTES && p->nkept < KEPT_BLOCKS) {
			b->next = p->kept;
			p->kept = b;
			p->nkept++;
		} else {
			free(b);
		}
	}
	p->at = p->total = 0;
	p->tree = NULL;
}

/* For all threads, and before any of them. */
__attribute__((constructor)) static void use_our_memory(void)
{
	ts_set_allocator(take, take_zeroed, take_more, give_back);
}

/* -- parsing ----------------------------------------------------------------------------------- */

static bool is_too_much(TSParseState *state)
{
	struct syntax_parser *p = state->payload;
	struct timespec now;

	if (p->total > p->most)
		return true;
	if (++p->calls % CLOCK_EVERY != 0)
		return false;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (now.tv_sec - p->begin.tv_sec) * 1000 + (now.tv_nsec - p->begin.tv_nsec) / 1000000 > (long)p->ms;
}

struct whole {
	const char *p;
	uint32_t n;
};

static const char *rest_of(void *payload, uint32_t at, TSPoint point, uint32_t *ret)
{
	const struct whole *text = payload;

	(void)point;
	*ret = at < text->n ? text->n - at : 0;
	return at < text->n ? text->p + at : "";
}

static bool parse(struct syntax_parser *p, const void *grammar, const char *text, uint32_t n, uint32_t ms,
	size_t memory)
{
	struct whole whole = { text, n };
	TSInput input = { .payload = &whole, .read = rest_of, .encoding = TSInputEncodingUTF8 };
	TSParseOptions options = { .payload = p, .progress_callback = is_too_much };
	TSParser *parser;

	current = p;
	drop_text(p);
	p->most = memory;
	p->ms = ms;
	p->calls = 0;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &p->begin);
	parser = ts_parser_new();
	if (ts_parser_set_language(parser, grammar))
		p->tree = ts_parser_parse_with_options(parser, NULL, input, options);
	/* The grammar's own scanner may hold memory that is not ours. */
	ts_parser_delete(parser);
	if (!p->tree)
		return false;
	p->cursor = ts_tree_cursor_new(ts_tree_root_node(p->tree));
	return true;
}

static struct syntax_parser *open_parser(void)
{
	struct syntax_parser *p = calloc(1, sizeof *p);

	if (!p)
		abort();
	return p;
}

static void close_parser(struct syntax_parser *p)
{
	struct block *b, *next;

	if (!p)
		return;
	drop_text(p);
	for (b = p->kept; b; b = next) {
		next = b->next;
		free(b);
	}
	free(p);
}

/* -- the tree ---------------------------------------------------------------------------------- */

static bool down(struct syntax_parser *p)
{
	current = p;
	return ts_tree_cursor_goto_first_child(&p->cursor);
}

static bool next(struct syntax_parser *p)
{
	current = p;
	return ts_tree_cursor_goto_next_sibling(&p->cursor);
}

static bool up(struct syntax_parser *p)
{
	return ts_tree_cursor_goto_parent(&p->cursor);
}

static struct syntax_node look(const struct syntax_parser *p)
{
	TSNode node = ts_tree_cursor_current_node(&p->cursor);

	return (struct syntax_node){ .begin = ts_node_start_byte(node),
		.end = ts_node_end_byte(node),
		.row = ts_node_start_point(node).row,
		.last_row = ts_node_end_point(node).row,
		.type = ts_node_symbol(node),
		.field = ts_tree_cursor_current_field_id(&p->cursor),
		.is_named = ts_node_is_named(node) };
}

static bool is_readable(const void *grammar)
{
	uint32_t version = ts_language_abi_version(grammar);

	return version >= TREE_SITTER_MIN_COMPATIBLE_LANGUAGE_VERSION && version <= TREE_SITTER_LANGUAGE_VERSION;
}

static uint32_t type_count(const void *grammar)
{
	return ts_language_symbol_count(grammar);
}

static const char *type_name(const void *grammar, uint32_t type)
{
	TSSymbol symbol = (TSSymbol)type;

	return ts_language_symbol_type(grammar, symbol) == TSSymbolTypeRegular
		? ts_language_symbol_name(grammar, symbol)
		: NULL;
}

static uint16_t field(const void *grammar, const char *name)
{
	return ts_language_field_id_for_name(grammar, name, (uint32_t)strlen(name));
}

extern const struct syntax hookd_syntax;

__attribute__((visibility("default"))) const struct syntax hookd_syntax = {
	.version = SYNTAX_VERSION,
	.open = open_parser,
	.close = close_parser,
	.is_readable = is_readable,
	.type_count = type_count,
	.type_name = type_name,
	.field = field,
	.parse = parse,
	.down = down,
	.next = next,
	.up = up,
	.look = look,
};
