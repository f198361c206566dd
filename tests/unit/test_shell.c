/* shell: which tree a text gives, what is refused and where, and that everything stays within its limits. */
#include "test.h"

#include "shell_tree.h"

static struct arena arena;

static int reset(void **state)
{
	(void)state;
	arena_reset(&arena);
	return 0;
}

/* -- trees ------------------------------------------------------------------------------------- */

struct tree_case {
	const char *text, *tree;
};

/* The text is parsed in a block of its exact size: reading one byte past its end must be seen. */
static void check_trees(const struct tree_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(cases[i].text), at;
		char *block = malloc(len ? len : 1);
		struct buf b = BUF_INIT(MIB(1));
		struct shell_node *list;
		struct err err = { 0 };

		memcpy(block, cases[i].text, len);
		if (shell_parse(&arena, str_n(block, len), NULL, &list, &at, &err) < 0)
			fail_msg("%s\n%s at %zu", cases[i].text, err.text, at);
		tree_node(&b, list);
		if (!str_eq(buf_str(&b), str_of(cases[i].tree)))
			fail_msg("%s\n'%s' is not\n'%s'", cases[i].text, b.p, cases[i].tree);
		buf_release(&b);
		free(block);
	}
}

static const struct tree_case words[] = {
	{ "echo", "(cmd echo)" },
	{ "echo a  b\tc", "(cmd echo a b c)" },
	{ "echo 'a b' \"c d\" e\\ f", "(cmd echo 'a b' 'c d' e' 'f)" },
	{ "ec'h'o", "(cmd ec'h'o)" },
	{ "r\\\nm -r\\\nf", "(cmd rm -rf)" },
	{ "echo '' \"\"", "(cmd echo '' '')" },
	{ "echo a\"b\"'c'd", "(cmd echo a'b''c'd)" },
	{ "echo \"a\\\"b\\\\c\\d\\$e\"", "(cmd echo 'a''\"b''\\c\\d''$e')" },
	{ "echo a#b #c\necho d", "((cmd echo a#b); (cmd echo d))" },
	{ "echo a;#c", "(cmd echo a)" },
	{ "$'\\x72\\155' $'\\u00e9\\U1F600' $'a\\0b'c $'\\cA\\e\\'\\q'",
		"(cmd 'rm' '\\xc3\\xa9\\xf0\\x9f\\x98\\x80' 'a'c '\\x01\\x1b'\\q')" },
	{ "$\"rm\" x", "(cmd 'rm' x)" },
	{ "\"a\\\nb\" 'a\\\nb'", "(cmd 'a''b' 'a\\\\nb')" },
	{ "echo \\", "(cmd echo '\\')" },
	{ "echo \"$\" $ a$ \"a$\"", "(cmd echo '$' $ a$ 'a$')" },
	{ "echo $'\\x' \"$'a'\"", "(cmd echo '\\x' '$'a'')" },
	{ "echo a\001b\377", "(cmd echo a\\x01b\\xff)" },
	{ "echo hi\015\n", "(cmd echo hi\\x0d)" },
};

static const struct tree_case expansions[] = {
	{ "$x $1 $12 $@ $* $# $? $- $$ $! $_", "(cmd $x $1 $12 $@ $* $# $? $- $$ $! $_)" },
	{ "${x} ${12} ${@} ${#} ${?} ${$} ${!}", "(cmd $x $12 $@ $# $? $$ $!)" },
	{ "${x-a} ${x:-a b} ${x=a} ${x:=a} ${x?a} ${x:?a} ${x+a} ${x:+a}",
		"(cmd ${x-a} ${x:-a b} ${x=a} ${x:=a} ${x?a} ${x:?a} ${x+a} ${x:+a})" },
	{ "${#x} ${#@} ${##} ${#?} ${##a} ${#-}",
		"(cmd ${x length} ${@ length} ${# length} ${? length} ${# strip # a} ${- length})" },
	{ "${x#a} ${x##a*} ${x%b} ${x%%/*}",
		"(cmd ${x strip # a} ${x strip ## a*} ${x strip % b} ${x strip %% /*})" },
	{ "${x/a/b} ${x//a/b} ${x/#a/b} ${x/%a/b} ${x/a} ${x//\\//_}",
		"(cmd ${x replace / a by b} ${x replace // a by b} ${x replace /# a by b} ${x replace /% a by b}"
			" ${x replace / a} ${x replace // '/' by _})" },
	{ "${x:1} ${x:1:2} ${x: -1}", "(cmd ${x from 1} ${x from 1:2} ${x from  -1})" },
	{ "${x^} ${x^^} ${x,} ${x,,[a-z]} ${x~~}",
		"(cmd ${x case ^ } ${x case ^^ } ${x case , } ${x case ,, [a-z]} ${x case ~~ })" },
	{ "${!x} ${!x*} ${!x@} ${!x[@]} ${!x:-y} ${!1}",
		"(cmd ${x!} ${x! prefix} ${x! prefix} ${x![@]} ${x!:-y} ${1!})" },
	{ "${x@Q} ${x[1]} ${x[$(rm)]} ${x[@]:1:2} ${#x[@]}",
		"(cmd ${x at Q } ${x[1]} ${x[$(cmd rm)]} ${x[@] from 1:2} ${x[@] length})" },
	{ "\"${x:-\"a b\"}\" \"${x:-'a'}\" ${x:-'a}'} \"${x#'a'}\"",
		"(cmd \"${x:-'a b'} \"${x:-''a''} ${x:-'a}'} \"${x strip # 'a'})" },
	{ "${x:-${y:-$(z)}}", "(cmd ${x:-${y:-$(cmd z)}})" },
	{ "${x:-~/a} ${x:-a~}", "(cmd ${x:-~<>/a} ${x:-a~})" },
	{ "$() `` \"`a \\\"b\\\"`\"", "(cmd $() $() \"$(cmd a 'b'))" },
	{ "`a \\`b \\\\\\`c\\\\\\`\\``", "(cmd $(cmd a $(cmd b $(cmd c))))" },
	{ "<(a) x<(b) >(c)", "(cmd <(cmd a) x<(cmd b) >(cmd c))" },
	{ "$((1 + 2)) $(( (1) * $x )) $((x[$(rm)])) $[1+$(b)]",
		"(cmd $(('1 + 2')) $((' (1) * '\"$x' ')) $(('x['\"$(cmd rm)']')) $((1+$(cmd b))))" },
	{ "$((a) | (b)) $( (a) )", "(cmd $((sub (cmd a)) | (sub (cmd b))) $(sub (cmd a)))" },
	{ "${ a; } ${| b; }", "(cmd $(cmd a) $(cmd b))" },
	{ "$\\\n(rm) ${x\\\ny} $x\\\ny", "(cmd $(cmd rm) $xy $xy)" },
	{ "echo ~ ~/a ~root/b a~ ~\"x\" ~$x a=~/b:~/c --x=~/d :~",
		"(cmd echo ~<> ~<>/a ~<root>/b a~ ~'x' ~$x a=~<>/b:~<>/c --x=~/d :~)" },
	{ "{a,b} {1..3} {a..z..2} {a} {} {a,{b,c}d}e {a,b {\"a,b\",c} \\{a,b} {a..3} {a,}",
		"(cmd {a|b} {1..3} {a..z..2} {a} {} {a|{b|c}d}e {a,b {'a,b'|c} '{'a,b} {a..3} {a|})" },
	{ "${a}{b,$(c)} {~,~x/y} x{~,y}", "(cmd $a{b|$(cmd c)} {~<>|~<x>/y} x{~|y})" },
	{ "{{a,b} {a,b}} {a{b,c}} {-1..+3} {a,b}{", "(cmd {{a|b} {a|b}} {a{b|c}} {-1..+3} {a|b}{)" },
	{ "ls *.c [ab]? @(a|b) !(x|+(y z)) a\\*b \"*\"", "(cmd ls *.c [ab]? @(a|b) !(x|+(y z)) a'*'b '*')" },
	{ "$x[1] ${x}[1]", "(cmd $x[1] $x[1])" },
};

static const struct tree_case assignments[] = {
	{ "a=1", "(cmd a=1)" },
	{ "a= b", "(cmd a= b)" },
	{ "a=1 b=$x c", "(cmd a=1 b=$x c)" },
	{ "a+=x", "(cmd a+=x)" },
	{ "a[1]=x a[$(rm) + 1]+=y", "(cmd a[1]=x a[$(cmd rm) + 1]+=y)" },
	{ "a=(1 \"2 3\"\n4 # x\n) b", "(cmd a=[1 '2 3' 4] b)" },
	{ "a+=(x) a=([1]=x [b]=\"y z\")", "(cmd a+=[x] a=[[1]=x [b]='y z'])" },
	{ "A=~/x:~/y B=a{b,c}", "(cmd A=~<>/x:~<>/y B=a{b,c})" },
	{ "echo a=b", "(cmd echo a=b)" },
	{ "declare -A x=([a]=b) y", "(cmd declare -A x=[[a]=b] y)" },
	{ "local a=1 b=(c)", "(cmd local a=1 b=[c])" },
	{ "PA\\\nTH=x rm", "(cmd PATH=x rm)" },
	{ "a[b c] d", "(cmd a[b c] d)" },
	{ "1a=b", "(cmd 1a=b)" },
	{ "a-b=c", "(cmd a-b=c)" },
	{ "a=<(b)", "(cmd a=<(cmd b))" },
	{ "a=b>c", "(cmd a=b >c)" },
	{ "export a=$(b)", "(cmd export a=$(cmd b))" },
};

static const struct tree_case redirections[] = {
	{ "a <b >c >>d <>e >|f", "(cmd a <b >c >>d <>e >f)" },
	{ "a 2>b 2>&1 <&3 >&- 2>&1- 3<&-", "(cmd a 2>b 2>&1 <&3 >&- 2>&1- 3<&-)" },
	{ "a &>b &>>c >&d >&$e >& f", "(cmd a &>b &>>c &>d &>$e &>f)" },
	{ "a {fd}>b {fd}<&-", "(cmd a {fd}>b {fd}<&-)" },
	{ ">a", "(cmd >a)" },
	{ ">a b <c d", "(cmd b d >a <c)" },
	{ "a 2 >b a2>c", "(cmd a 2 a2 >b >c)" },
	{ "a <<<b <<<\"c $d\" c", "(cmd a c <<<b <<<'c '\"$d)" },
	{ "a 12345678901>b", "(cmd a 12345678901 >b)" },
	{ "a<b>c", "(cmd a <b >c)" },
	{ "{ a; } >b 2>&1", "(group (cmd a) >b 2>&1)" },
	{ "a >$(b) >'c d'", "(cmd a >$(cmd b) >'c d')" },
	{ "a 2>(b)", "(cmd a 2>(cmd b))" },
	{ "a >{b,c}", "(cmd a >{b|c})" },
};

static const struct tree_case here_documents[] = {
	{ "a <<E\nb $c `d` $(e) \\$f\nE\ng",
		"((cmd a <<E['b '\"$c' '\"$(cmd d)' '\"$(cmd e)' ''$f\\n']); (cmd g))" },
	{ "a <<'E'\n$b\nE\n", "(cmd a <<'E'['$b\\n'])" },
	{ "a <<\"E F\"\nb\nE F\n", "(cmd a <<'E F'['b\\n'])" },
	{ "a <<\\E\n$b\nE\n", "(cmd a <<'E'['$b\\n'])" },
	{ "a <<-E\n\tb\n\t\tE\n", "(cmd a <<-E['b\\n'])" },
	{ "a <<E <<F b\n1\nE\n2\nF\nc", "((cmd a b <<E['1\\n'] <<F['2\\n']); (cmd c))" },
	{ "a <<E | b && c\nx\nE\n", "(((cmd a <<E['x\\n']) | (cmd b)) && (cmd c))" },
	{ "a <<E", "(cmd a <<E[])" },
	{ "a <<E\nb", "(cmd a <<E['b'])" },
	{ "a <<E\nE", "(cmd a <<E[])" },
	{ "a <<E\nb\\\nE\nE\n", "(cmd a <<E['bE\\n'])" },
	{ "a <<E\nb\nE\\\nF\n", "(cmd a <<E['b\\nEF\\n'])" },
	{ "a <<E\nE\\\n\nrm\n", "((cmd a <<E[]); (cmd rm))" },
	{ "$(a <<'E'\n)\nE\n) b", "(cmd $(cmd a <<'E'[')\\n']) b)" },
	{ "$(a <<E\nb\nE)", "(cmd $(cmd a <<E['b\\n']))" },
	{ "if a <<E; then\nb\nE\nc; fi", "(if (cmd a <<E['b\\n']) do (cmd c))" },
	{ "(a <<E)\nb\nE\n", "(sub (cmd a <<E['b\\n']))" },
	{ "a <<E; b <<F\n1\nE\n2\nF\n", "((cmd a <<E['1\\n']); (cmd b <<F['2\\n']))" },
	{ "a <<$x\n$x\n", "(cmd a <<$x[])" },
	{ "a <<$'E'\n$b\nE\n", "(cmd a <<'E'['$b\\n'])" },
	{ "a <<\"E\"\015\nb\nE\015\nc", "((cmd a <<'E\\x0d'['b\\n']); (cmd c))" },
	{ "a <<-\"E\"\n\t$b\n\tE\n", "(cmd a <<-'E'['$b\\n'])" },
	{ "a <<E\n\"$(b \"c\")\" '$d' ${e:-\"f\"}\nE\n",
		"(cmd a <<E['\"'\"$(cmd b 'c')'\" ''\"$d'' '\"${e:-'f'}'\\n'])" },
	{ "a <<''\nb\n\nc", "((cmd a <<''['b\\n']); (cmd c))" },
	{ "`a <<E\nb\nE\n` c", "(cmd $(cmd a <<E['b\\n']) c)" },
	{ "a <<E\n\\\\\nE\nb", "((cmd a <<E['\\\\n']); (cmd b))" },
};

static const struct tree_case lists[] = {
	{ "", "()" },
	{ "# a", "()" },
	{ "\n\n", "()" },
	{ "a;b", "((cmd a); (cmd b))" },
	{ "a\nb", "((cmd a); (cmd b))" },
	{ "a & b &", "((cmd a) & (cmd b) &)" },
	{ "a && b || c; d", "((cmd a) && (cmd b) || (cmd c); (cmd d))" },
	{ "a &&\n\n b", "((cmd a) && (cmd b))" },
	{ "a | b |& c", "((cmd a) | (cmd b) |& (cmd c))" },
	{ "a |\n# x\n b", "((cmd a) | (cmd b))" },
	{ "! a", "(! cmd a)" },
	{ "! ! a", "(cmd a)" },
	{ "time a | b", "(time (cmd a) | (cmd b))" },
	{ "time", "(time cmd)" },
	{ "! time -p a", "(! time cmd a)" },
	{ "time -p -- a", "(time cmd a)" },
	{ "a ; ", "(cmd a)" },
	{ "a &\nb", "((cmd a) & (cmd b))" },
	{ "a &\\\n& b", "((cmd a) && (cmd b))" },
};

static const struct tree_case compound[] = {
	{ "{ a; b; }", "(group ((cmd a); (cmd b)))" },
	{ "{a}", "(cmd {a})" },
	{ "(a; b) >c", "(sub ((cmd a); (cmd b)) >c)" },
	{ "((a))", "((( 'a')" },
	{ "if a; then b; fi", "(if (cmd a) do (cmd b))" },
	{ "if a\nthen b\nelif c; then d\nelse e\nfi >f",
		"(if (cmd a) do (cmd b) else (if (cmd c) do (cmd d) else (cmd e)) >f)" },
	{ "i\\\nf a; then b; fi", "(if (cmd a) do (cmd b))" },
	{ "while a; do b; done <c", "(while (cmd a) do (cmd b) <c)" },
	{ "until a; do b; done", "(until (cmd a) do (cmd b))" },
	{ "for x in a $b; do c; done", "(for x in a $b (cmd c))" },
	{ "for x; do a; done", "(for x (cmd a))" },
	{ "for x do a; done", "(for x (cmd a))" },
	{ "for x\nin a\ndo b; done", "(for x in a (cmd b))" },
	{ "for x in; do a; done", "(for x in (cmd a))" },
	{ "for x in a b; { c; }", "(for x in a b (cmd c))" },
	{ "for ((i=0; i<$(a); i++)); do b; done", "(for(( 'i=0; i<'\"$(cmd a)'; i++' (cmd b))" },
	{ "for ((;;)) { a; }", "(for(( ';;' (cmd a))" },
	{ "select x in a; do b; done", "(select x in a (cmd b))" },
	{ "case $x in a) b;; esac", "(case $x [a: (cmd b)])" },
	{ "case x in (a|b) c;& \"d\"*) e;;& f) esac", "(case x [a|b: (cmd c) ;&] ['d'*: (cmd e) ;;&] [f: ()])" },
	{ "case x in\n a)\n b\n ;;\n esac", "(case x [a: (cmd b)])" },
	{ "case x in esac", "(case x)" },
	{ "$(case x in a) b;; esac)", "(cmd $(case x [a: (cmd b)]))" },
	{ "case in in in) in;; esac", "(case in [in: (cmd in)])" },
	{ "case x in !(a|b)) c;; esac", "(case x [!(a|b): (cmd c)])" },
	{ "f() { a; }", "(function f (group (cmd a)))" },
	{ "f () (a)", "(function f (sub (cmd a)))" },
	{ "function f { a; }", "(function f (group (cmd a)))" },
	{ "function f() if a; then b; fi", "(function f (if (cmd a) do (cmd b)))" },
	{ "function a-b { c; } >d", "(function a-b (group (cmd c) >d))" },
	{ "f()\n{ a; }", "(function f (group (cmd a)))" },
	{ "f() { a; }; f", "((function f (group (cmd a))); (cmd f))" },
	{ "f() [[ a ]]", "(function f (test a))" },
	{ "f() ((a))", "(function f ((( 'a'))" },
	{ "[[ a ]]", "(test a)" },
	{ "[[ -f $x && ! ( a == b* || \"c\" < d ) ]]", "(test -f $x && ! ( a == b* || 'c' < d ))" },
	{ "[[ $x =~ ^(a|b c)+$ ]] && d", "((test $x =~ ^(a|b c)+$) && (cmd d))" },
	{ "[[ a =~ b|c ]]", "(test a =~ b|c)" },
	{ "[[ a\n&& b ]]", "(test a && b)" },
	{ "[[ $(rm) ]]", "(test $(cmd rm))" },
	{ "[[ \"a\" =~ 'b'c ]]", "(test 'a' =~ 'b'c)" },
	{ "[a] b", "(cmd [a] b)" },
	{ "[ a ]", "(cmd [ a ])" },
	{ "((a=1, b))", "((( 'a=1, b')" },
	{ "((a); b)", "(sub ((sub (cmd a)); (cmd b)))" },
	{ "( (a) )", "(sub (sub (cmd a)))" },
	{ "(( $(rm) + 1 )) >x", "((( ' '\"$(cmd rm)' + 1 ' >x)" },
	{ "((a) && (b))", "(sub ((sub (cmd a)) && (sub (cmd b))))" },
	{ "coproc a b", "(coproc (cmd a b))" },
	{ "coproc { a; }", "(coproc (group (cmd a)))" },
	{ "coproc x { a; }", "(coproc x (group (cmd a)))" },
	{ "coproc x (a)", "(coproc x (sub (cmd a)))" },
	{ "echo if then { } ! fi", "(cmd echo if then { } ! fi)" },
	{ "!a", "(cmd !a)" },
	{ "!(a)", "(! sub (cmd a))" },
	{ "{ a; } | { b; }", "((group (cmd a)) | (group (cmd b)))" },
	{ "a=1 if", "(cmd a=1 if)" },
	{ ">x { a", "(cmd { a >x)" },
};

static void test_words(void **state)
{
	(void)state;
	check_trees(words, countof(words));
}

static void test_expansions(void **state)
{
	(void)state;
	check_trees(expansions, countof(expansions));
}

static void test_assignments(void **state)
{
	(void)state;
	check_trees(assignments, countof(assignments));
}

static void test_redirections(void **state)
{
	(void)state;
	check_trees(redirections, countof(redirections));
}

static void test_here_documents(void **state)
{
	(void)state;
	check_trees(here_documents, countof(here_documents));
}

static void test_lists(void **state)
{
	(void)state;
	check_trees(lists, countof(lists));
}

static void test_compound(void **state)
{
	(void)state;
	check_trees(compound, countof(compound));
}

/* -- errors ------------------------------------------------------------------------------------ */

static const struct {
	const char *text;
	size_t at;
	const char *words;
} errors[] = {
	{ "$(a; b) \"$(c \"d\")\" $(", 21, "a substitution that is never closed" },
	{ "\"$((1+\")) x", 6, "a double quote that is never closed" },
	{ "(a <<E) b", 8, "'b' is not expected here" },
	{ "&\\\n& a", 0, "'&' is not expected here" },
	{ "a;;", 1, "';;' is not expected here" },
	{ "a && ", 5, "the command ends too early" },
	{ "| a", 0, "'|' is not expected here" },
	{ "; a", 0, "';' is not expected here" },
	{ "a ; ; b", 4, "';' is not expected here" },
	{ "a & ; b", 4, "';' is not expected here" },
	{ "a |", 3, "the command ends too early" },
	{ ")", 0, "')' is not expected here" },
	{ "{ a }", 5, "'}' is missing here" },
	{ "{ }", 2, "'}' is not expected here" },
	{ "( )", 2, "')' is not expected here" },
	{ "(a) b", 4, "'b' is not expected here" },
	{ "if a; then fi", 11, "'fi' is not expected here" },
	{ "if a; fi", 6, "'then' is missing here" },
	{ "case x in a) b esac", 19, "'esac' is missing here" },
	{ "case x in a b) c;; esac", 12, "'b' is not expected here" },
	{ "case esac in esac) a;; esac", 17, "')' is not expected here" },
	{ "f() a", 4, "'a' is not expected here" },
	{ "a b() { c; }", 3, "'(' is not expected here" },
	{ "[[ a", 4, "a [[ that is never closed" },
	{ "[[ ]]", 5, "[[ ]] with nothing in it" },
	{ "((a))b", 5, "'b' is not expected here" },
	{ "then", 0, "'then' is not expected here" },
	{ "fi", 0, "'fi' is not expected here" },
	{ "done", 0, "'done' is not expected here" },
	{ "}", 0, "'}' is not expected here" },
	{ "if", 2, "the command ends too early" },
	{ "if a; then b; fi c", 17, "'c' is not expected here" },
};

static void test_errors(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(errors); i++) {
		struct shell_node *list = NULL;
		struct err err = { 0 };
		size_t at = 0;

		assert_int_equal(shell_parse(&arena, str_of(errors[i].text), NULL, &list, &at, &err), -EBADMSG);
		if (strcmp(err.text, errors[i].words) != 0 || at != errors[i].at)
			fail_msg("%s\n%s at %zu, not %s at %zu", errors[i].text, err.text, at, errors[i].words, errors[i].at);
		assert_true(!list && err.line > 0 && err.col > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_words, reset),
		cmocka_unit_test_setup(test_expansions, reset),
		cmocka_unit_test_setup(test_assignments, reset),
		cmocka_unit_test_setup(test_redirections, reset),
		cmocka_unit_test_setup(test_here_documents, reset),
		cmocka_unit_test_setup(test_lists, reset),
		cmocka_unit_test_setup(test_compound, reset),
		cmocka_unit_test_setup(test_errors, reset),
	};
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_release(&arena);
	return failed;
}
