"""The tokens, functions and statements of a C source file as clang-format writes it: as much as mutants need.

It is not a parser of C. It knows where comments, strings and preprocessor lines are, which function a token is in, and which
statement; it tells `a * b` from `T *b` by the spaces around the star. What it gets wrong gives a mutant that does not compile,
and that one is not counted.
"""
import bisect
import dataclasses
import re

TOKEN = re.compile(
    r"""(?P<space>\s+)
      | (?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')
      | (?P<number>\.?[0-9](?:[eEpP][+-]|[0-9A-Za-z_.])*)
      | (?P<name>[A-Za-z_][A-Za-z_0-9]*)
      | (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|.)
    """,
    re.VERBOSE | re.DOTALL,
)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:\\\n|/\*.*?\*/|[^\n])*", re.MULTILINE | re.DOTALL)
BRACKETS = {"(": ")", "[": "]", "{": "}"}
CONTROL = {"if", "for", "while", "switch"}
TYPE_WORDS = {"const", "struct", "enum", "union", "static", "unsigned", "signed", "int", "char", "long", "double", "float", "void",
              "g_autoptr", "g_auto", "g_autofree", "volatile", "typedef", "extern"}


@dataclasses.dataclass
class Token:
    kind: str
    text: str
    begin: int
    end: int
    line: int
    space_before: bool = False
    space_after: bool = False


@dataclasses.dataclass
class Statement:
    """Tokens begin..end, the semicolon with them; without the body, where there is one."""

    kind: str  # if, for, while, switch, return, break, continue, goto, expression, declaration
    begin: int
    end: int
    depth: int  # 0: stands in the function's own block
    is_alone: bool  # the body of an `if` or a loop, without braces


@dataclasses.dataclass
class Function:
    name: str
    begin: int  # token of its opening brace
    end: int  # of its closing brace
    statements: list


def tokens_of(text):
    # What is blanked keeps its length, so that offsets and lines stay.
    code = PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    line_starts = [0] + [match.end() for match in re.finditer("\n", text)]
    tokens = []
    gap = True
    for match in TOKEN.finditer(code):
        kind = match.lastgroup
        if kind in ("space", "comment"):
            gap = True
            if tokens:
                tokens[-1].space_after = True
            continue
        line = bisect.bisect_right(line_starts, match.start())
        tokens.append(Token(kind, match.group(), match.start(), match.end(), line, space_before=gap))
        gap = False
    return tokens


class Source:
    def __init__(self, text):
        self.text = text
        self.tokens = tokens_of(text)
        self.partner = self._match_brackets()
        self.functions = self._find_functions()

    def _match_brackets(self):
        partner = {}
        open_ones = []
        for i, token in enumerate(self.tokens):
            if token.kind != "sign":
                continue
            if token.text in BRACKETS:
                open_ones.append(i)
            elif token.text in BRACKETS.values() and open_ones and BRACKETS[self.tokens[open_ones[-1]].text] == token.text:
                partner[i] = open_ones.pop()
                partner[partner[i]] = i
        return partner

    def _find_functions(self):
        """At the file's own level, NAME(...) {...}."""
        functions = []
        i = 0
        while i < len(self.tokens):
            if self.tokens[i].text in BRACKETS and i in self.partner:
                end = self.partner[i]
                after = end + 1
                if (self.tokens[i].text == "(" and i and self.tokens[i - 1].kind == "name" and after < len(self.tokens)
                        and self.tokens[after].text == "{" and after in self.partner):
                    function = Function(self.tokens[i - 1].text, after, self.partner[after], [])
                    self._read_block(after, 0, function.statements)
                    functions.append(function)
                    end = function.end
                i = end
            i += 1
        return functions

    def _read_block(self, brace, depth, statements):
        i, end = brace + 1, self.partner[brace]
        while i < end:
            i = self._read_statement(i, end, depth, False, statements)

    def _read_statement(self, i, limit, depth, is_alone, statements):
        """Append the statement that begins at token i, and those in it. Returns the token behind it."""
        tokens = self.tokens
        first = tokens[i].text
        following = tokens[i + 1].text if i + 1 < limit else ""
        if first == ";":
            return i + 1
        if first == "{":
            self._read_block(i, depth + (not is_alone), statements)
            return self.partner[i] + 1
        if first in ("else", "do"):
            return self._read_body(i + 1, limit, depth, statements)
        if first in ("case", "default") or (tokens[i].kind == "name" and following == ":"):
            while i < limit and tokens[i].text != ":":
                i += 1
            return i + 1
        if first in CONTROL and i + 1 in self.partner:
            close = self.partner[i + 1]
            statements.append(Statement(first, i, close, depth, is_alone))
            return self._read_body(close + 1, limit, depth, statements)
        end = i
        while end < limit and tokens[end].text != ";":
            end = self.partner.get(end, end) + 1 if tokens[end].text in BRACKETS else end + 1
            # a macro that loops: NAME(...) statement
            if (end == self.partner.get(i + 1, -2) + 1 and following == "(" and first not in TYPE_WORDS
                    and end < limit and (tokens[end].text == "{" or tokens[end].kind == "name")):
                return self._read_body(end, limit, depth, statements)
        statements.append(Statement(self._kind_of(i, end), i, end, depth, is_alone))
        return end + 1

    def _read_body(self, i, limit, depth, statements):
        if i < limit and self.tokens[i].text == "if":  # else if
            return self._read_statement(i, limit, depth, True, statements)
        return self._read_statement(i, limit, depth + 1, True, statements) if i < limit else i

    def _kind_of(self, begin, end):
        tokens = self.tokens
        first = tokens[begin]
        if first.text in ("return", "break", "continue", "goto"):
            return first.text
        if first.kind != "name":
            return "expression"
        if first.text in TYPE_WORDS:
            return "declaration"
        i = begin + 1
        while i < end and tokens[i].text == "*":
            i += 1
        if i < end and tokens[i].kind == "name" and (i == begin + 1 or not tokens[i - 1].space_after):
            return "declaration"
        return "expression"

    def line_text(self, line):
        return self.text.splitlines()[line - 1]
