"""Functions of a source file, with the comment or docstring that describes them, by plain reading of lines.

find(text, language) gives every function: where it begins and ends, and which lines before it (in Python, inside it) are its
description. without(text, functions) takes all descriptions out. Formatting does the work of a parser here: the end of a
function is the line with its closing brace (or `end`) at the column where it began. What is formatted otherwise is not found.
"""
import ast
import re
from dataclasses import dataclass

LANGUAGES = {".py": "python", ".js": "javascript", ".mjs": "javascript", ".ts": "typescript", ".go": "go", ".rs": "rust", ".c": "c",
             ".java": "java", ".rb": "ruby"}
LONGEST = 150  # lines; what is longer is a module in disguise
NO_FUNCTION = set("if for while switch catch return function else do with super constructor new throw sizeof foreach require case "
                  "typeof await yield delete try elseif synchronized".split())
HEADS = {
    "go": [r"func\s+(?:\([^)]*\)\s*)?(?P<name>\w+)\s*(?:\[[^\]]*\])?\("],
    "rust": [r"\s*(?:pub(?:\([^)]*\))?\s+)?(?:const\s+|async\s+|unsafe\s+|extern\s+\"[^\"]*\"\s+)*fn\s+(?P<name>\w+)"],
    "c": [r"(?:[A-Za-z_][\w \t*]*[ \t*])?(?P<name>[A-Za-z_]\w*)[ \t]*\((?!.*;[ \t]*$)"],
    "java": [r"[ \t]+(?:(?:public|private|protected|static|final|synchronized|default)\s+)*(?:<[^>]+>\s+)?[\w<>\[\],.?]+(?:\s*<.*>)?\s+"
             r"(?P<name>\w+)\s*\((?!.*;[ \t]*$)"],
    "javascript": [
        r"\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*(?P<name>[\w$]+)\s*[<(]",
        r"\s*(?:export\s+)?(?:const|let|var)\s+(?P<name>[\w$]+)\s*=\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*(?::[^=]+)?=>|[\w$]+\s*=>)",
        r"\s*(?:[\w$]+\.)*(?P<name>[\w$]+)\s*[:=]\s*(?:async\s+)?function\b",
        r"[ \t]+(?:(?:public|private|protected|static|async|get|set|override)\s+)*\*?(?P<name>[\w$]+)\s*(?:<[^>]*>)?\((?!.*[;,][ \t]*$)"],
    "ruby": [r"\s*def\s+(?:self\.)?(?P<name>[\w?!=]+)"],
}
HEADS["typescript"] = HEADS["javascript"]
HEADS = {language: [re.compile(head) for head in heads] for language, heads in HEADS.items()}
BETWEEN = {"rust": r"\s*#!?\[", "java": r"\s*@\w", "typescript": r"\s*@\w"}  # lines between a description and its function


@dataclass
class Function:
    name: str
    first: int  # lines from 0, both inclusive
    last: int
    described: tuple  # (first, last) of the description, or None
    text: str  # of the description, with its marks


def find(text, language):
    if language == "python":
        return list(python(text))
    return list(braces(text.split("\n"), language))


def python(text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    inside = [tree]
    while inside:
        for node in inside.pop().body:
            if isinstance(node, ast.ClassDef):
                inside.append(node)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                doc, described = ast.get_docstring(node), None
                if doc and len(node.body) > 1:
                    described = node.body[0].lineno - 1, node.body[0].end_lineno - 1
                first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
                yield Function(node.name, first - 1, node.end_lineno - 1, described, doc if described else "")


def column(line):
    return len(line) - len(line.lstrip())


def end_of(lines, first, language):
    """The last line of a function that begins here, or None."""
    if language == "ruby":
        closing, opening = "end", first
    else:
        for opening in range(first, min(first + 25, len(lines))):
            line = lines[opening]
            if "{" in line:
                break
            if line.rstrip().endswith(";") or not line.strip():
                return None
        else:
            return None
        closing = "}"
        if lines[opening].rstrip().endswith("}"):
            return opening
    start = column(lines[opening]) if lines[opening].strip() == "{" else column(lines[first])
    for at in range(opening + 1, min(opening + LONGEST, len(lines))):
        line = lines[at]
        if line.strip() and column(line) <= start:
            if line.strip().startswith(closing) and column(line) == start:
                return at
            if not re.match(r"\s*(\w+:|#|//|/?\*|[)}\]])", line):
                return None
    return None


def head_of(line, language):
    for head in HEADS[language]:
        found = head.match(line)
        if found and found["name"] not in NO_FUNCTION:
            return found["name"]
    return None


def description(lines, first, language):
    """(first, last) of the comment that ends on the line before a function."""
    last = first - 1
    while last >= 0 and language in BETWEEN and re.match(BETWEEN[language], lines[last]):
        last -= 1
    if last < 0 or not lines[last].strip():
        return None
    at = last
    if lines[last].rstrip().endswith("*/") and language not in ("go", "ruby"):
        while at >= 0 and "/*" not in lines[at]:
            at -= 1
        return (at, last) if at >= 0 and lines[at].lstrip().startswith("/*") else None
    mark = {"ruby": "#", "rust": "///"}.get(language, "//")
    while at >= 0 and lines[at].lstrip().startswith(mark):
        at -= 1
    return (at + 1, last) if at < last else None


def braces(lines, language):
    at = 0
    while at < len(lines):
        line, start = lines[at], at
        name = None if line.lstrip().startswith(("//", "*", "/*", "#")) else head_of(line, language)
        if name and language == "c" and (line[:1].isspace() or line.startswith(("else", "typedef", "struct ")) and "(" not in line):
            name = None
        last = name and end_of(lines, at, language)
        if not last or last - start < 2:
            at += 1
            continue
        if language == "c" and start and re.fullmatch(r"[A-Za-z_][\w \t*]*", lines[start - 1].rstrip()):
            start -= 1  # the type has a line of its own
        described = description(lines, start, language)
        yield Function(name, start, last, described, "\n".join(lines[described[0]:described[1] + 1]) if described else "")
        at = last + 1 if language not in ("javascript", "typescript") else at + 1


def without(text, functions):
    """The text without any description, and for each line where it is now."""
    lines = text.split("\n")
    gone = {at for f in functions if f.described for at in range(f.described[0], f.described[1] + 1)}
    where, kept = [], []
    for at, line in enumerate(lines):
        where.append(len(kept))
        if at not in gone:
            kept.append(line)
    return "\n".join(kept), where


# -- descriptions as questions -------------------------------------------------------------------

MARKS = re.compile(r"^[ \t]*(?:/\*+!?|\*+/|\*|//[/!]?|#+)[ \t]?", re.M)
REST = re.compile(r"\n[ \t]*(?:[@\\]\w|:\w+|Args?:|Arguments|Params?\b|Parameters\b|Returns?:|Raises:|Examples?\b|Usage|>>>|-{3,}|={3,}|\.\. |# |```|"
                  r"~{3,}|Notes?:|\+-|\* )|\n[ \t]*\n")
NO_QUESTION = re.compile(r"(?i)copyright|licen[sc]e|fixme|todo|xxx|eslint|pylint|noqa|deprecated|see also|\{@inheritdoc|@inheritdoc|@override|"
                         r"^(see|same as|like|helper|constructor|destructor|getter|setter|ditto|internal)\b|:nodoc:|@private")


def question(text, name, language):
    """The first sentences of a description, or None where they say nothing that could be asked for."""
    text = text if language == "python" else MARKS.sub("", text).replace("*/", "")
    text = re.sub(r"\A\s*(?:[@\\](?:brief|fn|func|function|internal|method|description)\b[^\n]*?(?=\s[A-Z]|\n|$))?\s*", "", text)
    text = re.sub(r"\A\s*" + re.escape(name) + r"\s*(?:\([^)]*\))?\s*(?:[-:]+|\n)?\s*", "", text)
    text = REST.split("\n" + text.strip())[0] or REST.split(text.strip())[0]
    text = re.sub(r"\{@\w+\s+([^}]*)\}|\[`?([^\]`]*)`?\]\([^)]*\)|\[`([^`]*)`\]", lambda m: m[1] or m[2] or m[3] or "", text)
    text = re.sub(r"<[a-zA-Z/][^>]{0,60}>|:\w+:|[`*_]{1,2}(?=\W)|(?<=\W)[`*_]{1,2}|`", " ", text)
    text = re.sub(r"\s+", " ", text).strip()
    while len(text) > 250 and ". " in text:
        text = text[:text.rindex(". ")] + "."
        if not re.search(r"\. ", text):
            break
    words = re.findall(r"[A-Za-z]{2,}", text)
    if not 5 <= len(words) <= 60 or len(text) > 400 or NO_QUESTION.search(text):
        return None
    if sum(c.isalpha() or c == " " for c in text) < .8 * len(text):
        return None
    return text
