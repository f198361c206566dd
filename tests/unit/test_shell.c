/* shell: which tree a text gives, what is refused and where, and that everything stays within its limits. */
#include "test.h"

#include <time.h>

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
	{ "echo \"$\" $ a$ \"a$\"", "(cmd echo '$' $ a$ 'a$')" },
	{ "echo $'\\x' \"$'a'\"", "(cmd echo '\\x' '$'a'')" },
	{ "echo a\001b\377", "(cmd echo a\\x01b\\xff)" },
	{ "echo hi\015\n", "(cmd echo hi\\x0d)" },
	{ "$'\\x{72}m' $'\\x{}a' $'\\x{0000000000041}'", "(cmd 'rm' '' 'A')" },
	{ "a\\\n#b \\\n# c", "(cmd a#b)" },
	{ "$'a\\\nb'", "(cmd 'a\\\\nb')" },
	{ "a \\\"b\\\" \\\\ \\$x \\`", "(cmd a '\"'b'\"' '\\' '$'x '`')" },
	{ "'a\nb' \"c\nd\"", "(cmd 'a\\nb' 'c\\nd')" },
	{ "a\013b\014c", "(cmd a\\x0bb\\x0cc)" },
};

static const struct tree_case expansions[] = {
	{ "$x $1 $12 $@ $* $# $? $- $$ $! $_", "(cmd $x $1 $12 $@ $* $# $? $- $$ $! $_)" },
	{ "${x} ${12} ${@} ${#} ${?} ${$} ${!}", "(cmd $x $12 $@ $# $? $$ $!)" },
	{ "${x-a} ${x:-a b} ${x=a} ${x:=a} ${x?a} ${x:?a} ${x+a} ${x:+a}",
		"(cmd ${x-a} ${x:-a b} ${x=a} ${x:=a} ${x?a} ${x:?a} ${x+a} ${x:+a})" },
	{ "${#x} ${#@} ${##} ${#?} ${##a} ${#-}",
		"(cmd ${x length} ${@ length} ${# length} ${? length} ${# strip # a} ${- length})" },
	{ "${x#a} ${x##a*} ${x%b} ${x%%/*}", "(cmd ${x strip # a} ${x strip ## a*} ${x strip % b} ${x strip %% /*})" },
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
		"(cmd {a|b} {range 1..3} {range a..z..2} {a} {} {a|{b|c}d}e {a,b {'a,b'|c} '{'a,b} {a..3} {a|})" },
	{ "${a}{b,$(c)} {~,~x/y} x{~,y}", "(cmd $a{b|$(cmd c)} {~<>|~<x>/y} x{~|y})" },
	{ "{{a,b} {a,b}} {a{b,c}} {-1..+3} {a,b}{", "(cmd {{a|b} {a|b}} {a{b|c}} {range -1..+3} {a|b}{)" },
	{ "ls *.c [ab]? @(a|b) !(x|+(y z)) a\\*b \"*\"", "(cmd ls *.c [ab]? @(a|b) !(x|+(y z)) a'*'b '*')" },
	{ "$x[1] ${x}[1]", "(cmd $x[1] $x[1])" },
	{ "\"${x:-$'\\x61'}\" \"$'a'\"", "(cmd \"${x:-'a'} '$'a'')" },
	{ "\"${x:-`a \\\"b\\\"`}\"", "(cmd \"${x:-\"$(cmd a '\"'b'\"')})" },
	{ "\"${x//\"a\"/'b'}\" \"${x%\"$y\"}\"", "(cmd \"${x replace // 'a' by 'b'} \"${x strip % \"$y})" },
	{ "\"$(a \"$(b \"$(c)\")\")\"", "(cmd \"$(cmd a \"$(cmd b \"$(cmd c))))" },
	{ "${x:-'$(a)'} \"${x:-'$(a)'}\"", "(cmd ${x:-'$(a)'} \"${x:-'''\"$(cmd a)'''})" },
	{ "$(a # )\n)", "(cmd $(cmd a))" },
	{ "$(a `b \\$c`)", "(cmd $(cmd a $(cmd b $c)))" },
	{ "$x$y\"$z\"'w'", "(cmd $x$y\"$z'w')" },
	{ "${x:-a;b|c&d(e)}", "(cmd ${x:-a;b|c&d(e)})" },
	{ "$(( $((1)) + `a` ))", "(cmd $((' '\"$(('1'))' + '\"$(cmd a)' ')))" },
	{ "$(('a'))", "(cmd $((''a'')))" },
	{ "${x:$(a):2} ${x:y?1:2}", "(cmd ${x from $(cmd a):2} ${x from y?1:2})" },
	{ "$[a[1]]", "(cmd $((a[1])))" },
	{ "${x:-<(a)}", "(cmd ${x:-<(cmd a)})" },
	{ "\"<(a)\" \"~\" \"{a,b}\" \"*\"", "(cmd '<(a)' '~' '{a,b}' '*')" },
	{ "rm ~\\\n ~\\\n/a ~ro\\\not/b a=b:\\\n~/c", "(cmd rm ~<> ~<>/a ~<root>/b a=b:~<>/c)" },
	{ "{a\\\n,b} {1\\\n..3}", "(cmd {a|b} {range 1..3})" },
	{ "`a 'b\\\nc'`", "(cmd $(cmd a 'bc'))" },
	{ "${x#\\\n#a} ${x/\\\n/a/b}", "(cmd ${x strip ## a} ${x replace // a by b})" },
	{ "$\\\n'a'b $\\\n\"c\"", "(cmd 'a'b 'c')" },
	{ "~}", "(cmd ~})" },
	{ "{~}", "(cmd {~})" },
	{ "${x:-~}", "(cmd ${x:-~<>})" },
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
	{ "a=()", "(cmd a=[])" },
	{ "a=`b` c", "(cmd a=$(cmd b) c)" },
	{ "a=$(b) >c", "(cmd a=$(cmd b) >c)" },
	{ "a=b c=d e=f", "(cmd a=b c=d e=f)" },
	{ "readonly a=(b c) d=e", "(cmd readonly a=[b c] d=e)" },
	{ "a=\"b c\"d", "(cmd a='b c'd)" },
	{ "a==b", "(cmd a==b)" },
	{ "a=#b", "(cmd a=#b)" },
	{ "a=1 b", "(cmd a=1 b)" },
	{ "eval a=(b)", "(cmd eval a=[b])" },
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
	{ "a >&-b c", "(cmd a b c >&-)" },
	{ "a >& -b", "(cmd a b >&-)" },
	{ "a 2>&1b", "(cmd a 2&>1b)" },
	{ "a <&2-", "(cmd a <&2-)" },
	{ ">a>b>c", "(cmd >a >b >c)" },
	{ "2>a", "(cmd 2>a)" },
	{ "a >& 2", "(cmd a >&2)" },
	{ "{a}>b c", "(cmd c {a}>b)" },
	{ "{a,b}>c", "(cmd {a|b} >c)" },
	{ "<<<a", "(cmd <<<a)" },
	{ "a 0<b 9>>c", "(cmd a 0<b 9>>c)" },
	{ "2\\\n>a b", "(cmd b 2>a)" },
	{ "a >\\\n>b >\\\n&-c <\\\n<E\nd\nE", "(cmd a c >>b >&- <<E['d\\n'])" },
	{ "a 2>&1>b", "(cmd a 2>&1 >b)" },
	{ "a >&2<b", "(cmd a >&2 <b)" },
	{ "a 2>&1>>b 3>&2", "(cmd a 2>&1 >>b 3>&2)" },
	{ "a >2 >b", "(cmd a >2 >b)" },
};

static const struct tree_case here_documents[] = {
	{ "a <<E\nb $c `d` $(e) \\$f\nE\ng", "((cmd a <<E['b '\"$c' '\"$(cmd d)' '\"$(cmd e)' ''$f\\n']); (cmd g))" },
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
	{ "a <<E\nb\nE)", "(cmd a <<E['b\\nE)'])" },
	{ "a << E\nb\nE", "(cmd a <<E['b\\n'])" },
	{ "a <<E\"F\"G\n$b\nEFG\n", "(cmd a <<'EFG'['$b\\n'])" },
	{ "a <<E b <<-F\n$(c <<G\nd\nG\n)\nE\n\te\n\tF\n", "(cmd a b <<E[\"$(cmd c <<G['d\\n'])'\\n'] <<-F['e\\n'])" },
	{ "a <<E &&\nb\nE\nc", "((cmd a <<E['b\\n']) && (cmd c))" },
	{ "{ a <<E\nb\nE\n}", "(group (cmd a <<E['b\\n']))" },
	{ "a <<E | while b; do\nc\nE\nd; done", "((cmd a <<E['c\\n']) | (while (cmd b) do (cmd d)))" },
	{ "a \"$(b <<E\nc \"d\nE\n)\" e", "(cmd a \"$(cmd b <<E['c \"d\\n']) e)" },
	{ "\"a <<E\nb\nE\n\"", "(cmd 'a <<E\\nb\\nE\\n')" },
	{ "a <<'E' # x\nb\nE\n", "(cmd a <<'E'['b\\n'])" },
	{ "a $((1<<2))", "(cmd a $(('1<<2')))" },
	{ "((a<<b))", "((( 'a<<b')" },
	{ "a <<E\n\\\nE\nb", "((cmd a <<E[]); (cmd b))" },
	{ "a <<E\n\tE\nE\n", "(cmd a <<E['\\x09E\\n'])" },
	{ "a <<E; b=(c)\nx\nE\n", "((cmd a <<E['x\\n']); (cmd b=[c]))" },
	{ "a <<E $(b\n)\nx\nE\n", "(cmd a $(cmd b) <<E['x\\n'])" },
	{ "a <<E \"b\nc\"\nx\nE\n", "(cmd a 'b\\nc' <<E['x\\n'])" },
	{ "a <<E; for x in b\nx\nE\ndo c; done", "((cmd a <<E['x\\n']); (for x in b (cmd c)))" },
	{ "a <<E; `b\n`\nx\nE\n", "((cmd a <<E['x\\n']); (cmd $(cmd b)))" },
	{ "a <<E; b \"$(c <<F\ny\nF\n)\"\nx\nE\n", "((cmd a <<E['x\\n']); (cmd b \"$(cmd c <<F['y\\n'])))" },
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
	{ "a | time b", "((cmd a) | (cmd time b))" },
	{ "!", "(! cmd)" },
	{ "! ! ; a", "((cmd); (cmd a))" },
	{ "a\\\n;b", "((cmd a); (cmd b))" },
	{ "a\n\\\n\nb", "((cmd a); (cmd b))" },
	{ "a <(b) | c", "((cmd a <(cmd b)) | (cmd c))" },
	{ "a;b&c|d&&e||f", "((cmd a); (cmd b) & ((cmd c) | (cmd d)) && (cmd e) || (cmd f))" },
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
	{ "case in in in) a;; esac", "(case in [in: (cmd a)])" },
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
	{ "{ a;}", "(group (cmd a))" },
	{ "{(a)}", "(group (sub (cmd a)))" },
	{ "{\na\n}", "(group (cmd a))" },
	{ "case \"$(a)\" in $(b)|c) d;; esac", "(case \"$(cmd a) [$(cmd b)|c: (cmd d)])" },
	{ "\"f\"() { a; }", "(function f (group (cmd a)))" },
	{ "[[ ! a && ( b ) ]] || c", "((test ! a && ( b )) || (cmd c))" },
	{ "[[ a -nt b ]] >c", "(test a -nt b >c)" },
	{ "[[ a = \"]]\" ]]", "(test a = ']]')" },
	{ "[[ a\\\n ]]", "(test a)" },
	{ "[[ $a == @(b|c)* ]]", "(test $a == @(b|c)*)" },
	{ "if [[ a ]]; then b; fi", "(if (test a) do (cmd b))" },
	{ "while ((i--)); do a; done", "(while ((( 'i--') do (cmd a))" },
	{ "coproc a=b c", "(coproc (cmd a=b c))" },
	{ "select x do a; done", "(select x (cmd a))" },
	{ "time { a; }", "(time group (cmd a))" },
	{ "! (a)", "(! sub (cmd a))" },
	{ "! { a; }", "(! group (cmd a))" },
	{ "a | { b; } | (c)", "((cmd a) | (group (cmd b)) | (sub (cmd c)))" },
	{ "if a; then b; fi | c &", "(((if (cmd a) do (cmd b)) | (cmd c)) &)" },
	{ "f() { g() { a; }; }", "(function f (group (function g (group (cmd a)))))" },
	{ "while a; do if b; then c; fi; done", "(while (cmd a) do (if (cmd b) do (cmd c)))" },
	{ "until a\ndo\nb\ndone", "(until (cmd a) do (cmd b))" },
	{ "if a; then\n# c\nb\nfi", "(if (cmd a) do (cmd b))" },
	{ "case x in a) b;; (c) d ;& *) esac >e", "(case x [a: (cmd b)] [c: (cmd d) ;&] [*: ()] >e)" },
	{ "for x in a\n\n\ndo b\ndone", "(for x in a (cmd b))" },
	{ "[\\\n[ a ]\\\n]", "(test a)" },
	{ "f(\\\n) { a; }", "(function f (group (cmd a)))" },
	{ "(\\\n(a))", "((( 'a')" },
	{ "ca\\\nse x i\\\nn a) b;\\\n; esac", "(case x [a: (cmd b)])" },
	{ "if<(a) b", "(cmd if<(cmd a) b)" },
	{ "}>(a)", "(cmd }>(cmd a))" },
	{ "if <(a); then b; fi", "(if (cmd <(cmd a)) do (cmd b))" },
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
	{ "echo \\", 5, "a backslash with nothing behind it" },
	{ "$(a; b) \"$(c \"d\")\" $(", 21, "a substitution that is never closed" },
	{ "\"$((1+\")) x", 6, "a double quote that is never closed" },
	{ "\"${x:-'}'}\"", 7, "single quotes in double quotes whose meaning depends on the shell" },
	{ "${", 2, "${ without the name of a parameter" },
	{ "${x", 3, "a ${ that is never closed" },
	{ "${x!}", 3, "something in ${ } that no shell knows" },
	{ "${}", 2, "${ without the name of a parameter" },
	{ "${a.b}", 3, "something in ${ } that no shell knows" },
	{ "\"$(a", 3, "a substitution that is never closed" },
	{ "`a", 0, "a backquote that is never closed" },
	{ "$((1", 4, "the command ends too early" },
	{ "$[1", 3, "a [ that is never closed" },
	{ "a=(b)c", 5, "'c' is not expected here" },
	{ "a=(b;c)", 4, "';' is not expected here" },
	{ "a[", 2, "a [ that is never closed" },
	{ "a[1", 3, "a [ that is never closed" },
	{ "echo a=(b)", 7, "'(' is not expected here" },
	{ "a >", 3, "the command ends too early" },
	{ "a > ;", 4, "';' is not expected here" },
	{ "a >>(b)", 4, "'(' is not expected here" },
	{ "a <", 3, "the command ends too early" },
	{ "a > #b", 6, "the command ends too early" },
	{ "a > 2>b", 4, "'2' is not expected here" },
	{ "a &>{b}>c", 4, "'{b}' is not expected here" },
	{ "(a <<E) b", 8, "'b' is not expected here" },
	{ "a <<\"E\n", 4, "a double quote that is never closed" },
	{ "a <<`b`", 4, "a backquote in the delimiter of a here-document" },
	{ "a <<${b}", 4, "${ in the delimiter of a here-document" },
	{ "a <<", 4, "the command ends too early" },
	{ "$(a <<E\nEx (y)\nE\n)", 8, "a line of a here-document that bash would take for its end" },
	{ "$(a <<E)\nb\nE\n", 8, "a here-document whose text does not begin before its substitution ends" },
	{ "a <<E\n${b\nE\n", 9, "something in ${ } that no shell knows" },
	{ "a <<E; b=(\nx\nE\nc)", 10, "a here-document whose text would begin inside of an array" },
	{ "&\\\n& a", 0, "'&' is not expected here" },
	{ "a;;", 1, "';;' is not expected here" },
	{ "a && ", 5, "the command ends too early" },
	{ "| a", 0, "'|' is not expected here" },
	{ "; a", 0, "';' is not expected here" },
	{ "a ; ; b", 4, "';' is not expected here" },
	{ "a & ; b", 4, "';' is not expected here" },
	{ "a |", 3, "the command ends too early" },
	{ ")", 0, "')' is not expected here" },
	{ "a | ! b", 4, "'!' is not expected here" },
	{ "a | then", 4, "'then' is not expected here" },
	{ "a && fi", 5, "'fi' is not expected here" },
	{ "a;\n\n;b", 4, "';' is not expected here" },
	{ "a &&& b", 4, "'&' is not expected here" },
	{ "a ||| b", 4, "'|' is not expected here" },
	{ "a &;", 3, "';' is not expected here" },
	{ "&", 0, "'&' is not expected here" },
	{ "&&", 0, "'&&' is not expected here" },
	{ "a |& | b", 5, "'|' is not expected here" },
	{ "in a", 0, "'in' is not expected here" },
	{ "]] a", 0, "']]' is not expected here" },
	{ "a | in", 4, "'in' is not expected here" },
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
	{ "{ a; } b", 7, "'b' is not expected here" },
	{ "(a", 2, "the command ends too early" },
	{ "(a))", 3, "')' is not expected here" },
	{ "((a", 3, "the command ends too early" },
	{ "if a; then b; else; fi", 18, "';' is not expected here" },
	{ "while a; done", 9, "'do' is missing here" },
	{ "for", 3, "the command ends too early" },
	{ "for x in a", 10, "the command ends too early" },
	{ "for $x in a; do b; done", 6, "a loop whose variable is not a plain name" },
	{ "for x in a; b; done", 12, "'do' is missing here" },
	{ "case", 4, "the command ends too early" },
	{ "case x", 6, "'in' is missing here" },
	{ "case x in", 9, "the command ends too early" },
	{ "case x in a", 11, "the command ends too early" },
	{ "case x in a) b;;", 16, "the command ends too early" },
	{ "case x in a) b;; c", 18, "the command ends too early" },
	{ "case x in a|) b;; esac", 12, "')' is not expected here" },
	{ "function", 8, "the command ends too early" },
	{ "function f", 10, "the command ends too early" },
	{ "f(", 2, "the command ends too early" },
	{ "f( a )", 3, "'a' is not expected here" },
	{ "$x() { a; }", 4, "a function whose name is not plain text" },
	{ "f() { a; } b", 11, "'b' is not expected here" },
	{ "[[ a == (b|c) ]]", 10, "'|' is not expected here" },
	{ "[[ a =~ (b ]]", 13, "a parenthesis of a pattern that is never closed" },
	{ "[[ a ; b ]]", 5, "';' is not expected here" },
	{ "coproc", 6, "the command ends too early" },
	{ "a() (b) c() (d)", 8, "'c' is not expected here" },
	{ "for ((i=0", 6, "a for (( that is never closed" },
	{ "for ((a)) b", 10, "'do' is missing here" },
	{ "}\\\n", 0, "'}\\' is not expected here" },
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
			fail_msg("%s\n%s at %zu, not %s at %zu", errors[i].text, err.text, at, errors[i].words,
				errors[i].at);
		assert_true(!list && err.line > 0 && err.col > 0);
	}
}

/* -- limits ------------------------------------------------------------------------------------ */

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Texts of about a megabyte made of one piece again and again. None may take more than a moment, whatever comes out. */
static const struct {
	const char *before, *piece, *after;
	int code; /* with the default limits */
} shapes[] = {
	{ "", "(", "", -E2BIG },
	{ "", "( ", "", -E2BIG },
	{ "", "$((", "", -E2BIG },
	{ "", "$(($(", "", -E2BIG },
	{ "", "$((a", "", -E2BIG },
	{ "", "((a)", "", -EBADMSG },
	{ "", "$(", "", -E2BIG },
	{ "", "${x:-", "", -E2BIG },
	{ "", "\"${x:-", "", -E2BIG },
	{ "", "\"$(", "", -E2BIG },
	{ "", "<(", "", -E2BIG },
	{ "", "a[", "", -EBADMSG },
	{ "", "a[$(", "", -E2BIG },
	{ "", "`\\`\\\\\\`", "", -EBADMSG },
	{ "", "`", "", -E2BIG },
	{ "", "\\`", "", -E2BIG },
	{ "", "{", "", -E2BIG },
	{ "", "{ ", "", -E2BIG },
	{ "", "{a,b}", "", -E2BIG },
	{ "", "{,", "", -E2BIG },
	{ "", ",", "", 0 },
	{ "{", ",", "}", -E2BIG },
	{ "", "}", "", 0 },
	{ "", "<<a", "", -E2BIG },
	{ "", "<<a\n", "", 0 },
	{ "a <<E\n", "E\\\n", "", 0 },
	{ "a <<E\n", "\\\n", "", 0 },
	{ "a <<-E\n", "\t", "", 0 },
	{ "a <<-E\n", "\t\n", "", 0 },
	{ "a <<E\n", "$(", "", -E2BIG },
	{ "a <<E\n", "$x", "", -E2BIG },
	{ "", "a|", "a", -E2BIG },
	{ "", "a;", "", -E2BIG },
	{ "", "a&&", "a", -E2BIG },
	{ "", "!", "", 0 },
	{ "", "! ", "", 0 },
	{ "", "'", "", 0 },
	{ "'", "''", "", -EBADMSG },
	{ "", "''", "", 0 },
	{ "", "\"", "", 0 },
	{ "\"", "\"\"", "", -EBADMSG },
	{ "", "a ", "", -E2BIG },
	{ "", "\\\n", "", 0 },
	{ "a", "\\\n", "b", 0 },
	{ "$", "\\\n", "(a)", 0 },
	{ "", "a\\\n", "=b", 0 },
	{ "", "\n", "", 0 },
	{ "", "#\n", "", 0 },
	{ "", "if a; then ", "", -E2BIG },
	{ "if a; then b; ", "elif a; then b; ", "fi", -E2BIG },
	{ "", "case x in a) ", "", -E2BIG },
	{ "case x in ", "a) ;; ", "esac", -E2BIG },
	{ "", "[[ ", "", -E2BIG },
	{ "[[ ", "( ", "", -E2BIG },
	{ "[[ a =~ ", "(", "", -EBADMSG },
	{ "a ", "@(", "", -EBADMSG },
	{ "", "f() { ", "", -E2BIG },
	{ "", "~", "", 0 },
	{ "", "a=~:", "", 0 },
	{ "", "$'\\x41'", "", -E2BIG },
	{ "$'", "\\u1", "'", 0 },
	{ "", "=(", "", -EBADMSG },
	{ "", "a=(", "", -EBADMSG },
	{ "", "1", ">x", 0 },
	{ "", "$", "", -E2BIG },
	{ "", "\\", "", -E2BIG },
	{ "", "\001\377", "", 0 },
};

static void test_a_megabyte(void **state)
{
	unsigned wrong = 0;

	(void)state;
	for (size_t i = 0; i < countof(shapes); i++) {
		struct buf b = BUF_INIT(MIB(1));
		struct shell_node *list = NULL;
		struct err err = { 0 };
		size_t at;
		double began;
		int r;

		buf_addf(&b, "%s", shapes[i].before);
		while (b.len + strlen(shapes[i].piece) + strlen(shapes[i].after) <= MIB(1))
			buf_addf(&b, "%s", shapes[i].piece);
		buf_addf(&b, "%s", shapes[i].after);
		arena_reset(&arena);
		began = seconds();
		r = shell_parse(&arena, buf_str(&b), NULL, &list, &at, &err);
		/* Sanitizers make it ten times slower; a square would take minutes. */
		if (r != shapes[i].code || seconds() - began > 2) {
			print_error("%s%s…: %d %s, %.3f s\n", shapes[i].before, shapes[i].piece, r, err.text,
				seconds() - began);
			wrong++;
		}
		buf_release(&b);
	}
	assert_int_equal(wrong, 0);
}

static void test_limits(void **state)
{
	struct shell_limits limits = { .bytes = 20, .nodes = 16, .depth = 3 };
	struct shell_node *list;
	struct err err = { 0 };
	size_t at;

	(void)state;
	assert_int_equal(shell_parse(&arena, STR("a b c d e"), &limits, &list, &at, &err), 0);
	assert_int_equal(shell_parse(&arena, STR("a b c d e f g h"), &limits, &list, &at, &err), -E2BIG);
	assert_int_equal(shell_parse(&arena, STR("((( a )))"), &limits, &list, &at, &err), 0);
	assert_int_equal(shell_parse(&arena, STR("( ( ( a)))"), &limits, &list, &at, &err), 0);
	assert_int_equal(shell_parse(&arena, STR("$($($(a)))"), &limits, &list, &at, &err), 0);
	assert_int_equal(shell_parse(&arena, STR("$($($($(a))))"), &limits, &list, &at, &err), -E2BIG);
	assert_int_equal(shell_parse(&arena, STR("aaaaaaaaaaaaaaaaaaaaa"), &limits, &list, &at, &err), -E2BIG);
	assert_int_equal(shell_parse(&arena, STR_NONE, &limits, &list, NULL, NULL), 0);
	assert_null(list->children);
	assert_int_equal(shell_parse(&arena, str_n("a\0b", 3), NULL, &list, &at, &err), -EBADMSG);
	assert_int_equal(shell_parse(&arena, str_n("a '\0'", 5), NULL, &list, &at, &err), -EBADMSG);
	assert_int_equal(shell_parse(&arena, str_n("a #\0\nb", 6), NULL, &list, &at, &err), -EBADMSG);
	assert_int_equal(at, 3);
}

/* -- what is asked of a tree ------------------------------------------------------------------- */

static const struct {
	const char *text, *literal; /* of the second word; NULL: not constant */
} literals[] = {
	{ "a b", "b" },
	{ "a 'b'\"c\"\\d", "bcd" },
	{ "a ''", "" },
	{ "a $b", NULL },
	{ "a \"$b\"", NULL },
	{ "a *", NULL },
	{ "a '*'", "*" },
	{ "a \\*", "*" },
	{ "a [", "[" },
	{ "a ]", "]" },
	{ "a [b]", NULL },
	{ "a [\"b\"]", NULL },
	{ "a ~", NULL },
	{ "a '~'", "~" },
	{ "a {b,c}", NULL },
	{ "a {b}", "{b}" },
	{ "a b?", NULL },
	{ "a @(b)", NULL },
	{ "a $(b)", NULL },
	{ "a $'\\x62'", "b" },
	{ "a b\\\nc", "bc" },
	{ "a <(b)", NULL },
	{ "a $((1))", NULL },
};

static void test_literals(void **state)
{
	(void)state;
	for (size_t i = 0; i < countof(literals); i++) {
		struct shell_node *list;
		str literal;

		assert_int_equal(shell_parse(&arena, str_of(literals[i].text), NULL, &list, NULL, NULL), 0);
		literal = shell_word_literal(&arena, list->children->words->next);
		if (!str_eq(literal, str_of(literals[i].literal)) || !literal.p != !literals[i].literal)
			fail_msg("%s: " STR_FMT, literals[i].text, STR_ARG(literal));
	}
}

static void add_name(const struct shell_node *simple, void *arg)
{
	struct buf *b = arg;

	buf_addf(b, STR_FMT " ", STR_ARG(simple->words ? simple->words->parts->text : STR("-")));
}

static void test_each_simple(void **state)
{
	struct buf b = BUF_INIT(KIB(4));
	struct shell_node *list;

	(void)state;
	assert_int_equal(shell_parse(&arena,
				 STR("a $(b `c`) >$(d) \"${x:-$(e)}\" <<E | f=$(g) h[$(i)]=1 j\n$(k)\nE\n"
				     "if l; then m; elif n; then o; else p; fi; for x in $(q); do r; done <<<$(s)\n"
				     "case $(t) in $(u)) v;; esac; w() { x; }; [[ $(y) ]]; (($(z))); declare a=($(A))\n"
				     "echo ${a[$(B)]/$(C)/$(D)} {$(E),F$((1+$(G)))} <(H)"),
				 NULL, &list, NULL, NULL),
		0);
	shell_each_simple(list, add_name, &b);
	assert_str(buf_str(&b), STR("a b c d e k j g i l m n o p q r s t u v x y z declare A echo B C D E G H "));
	buf_release(&b);
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
		cmocka_unit_test_setup(test_a_megabyte, reset),
		cmocka_unit_test_setup(test_limits, reset),
		cmocka_unit_test_setup(test_literals, reset),
		cmocka_unit_test_setup(test_each_simple, reset),
	};
	int failed;

	arena_init(&arena);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	arena_release(&arena);
	return failed;
}
