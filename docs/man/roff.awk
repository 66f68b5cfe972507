# roff.awk: a manual page in our Markdown, made into roff (man(7)); any awk will do.
#
# It knows what the pages are written in, and nothing else:
#   % TITLE(SECTION) | MANUAL        the first line
#   # HEAD, ## SUBHEAD
#   TERM, and ":   text" below it    a definition; what follows, indented by 4, belongs to it
#   4 spaces at the left margin      as it stands there
#   **bold**, *italic*, `code`, <address>, \c for a character that means something, a \ at the end of a line
#
# Invariant: a line of text never begins with what roff takes for a request, and never holds a character that roff
# reads as another.
# awk -v footer="tacho 1.0" -v date=2026-11-22 -f roff.awk page.1.md

function flush_text() { # ends a paragraph
	if (text != "") {
		print inline(text)
		text = ""
	}
}

function protect(line) { # backslashes first: the others bring their own
	gsub(/\\/, "\\e", line)
	gsub(/-/, "\\-", line)
	gsub(/\^/, "\\(ha", line)
	gsub(/~/, "\\(ti", line)
	gsub(/`/, "\\(ga", line)
	if (line ~ /^[.']/)
		line = "\\&" line
	return line
}

# Which font comes next: bold and italic are opened and closed by the same sign.
function font(name) {
	if (current == name) {
		current = "R"
		return "\\fR"
	}
	current = name
	return "\\f" name
}

function inline(line,    result, letter, i, n) {
	result = ""
	current = "R"
	n = length(line)
	for (i = 1; i <= n; i++) {
		letter = substr(line, i, 1)
		if (letter == "\\" && i < n && substr(line, i + 1, 1) == "\n") {
			result = result "\n.br"
		} else if (letter == "\\" && i < n) {
			i++
			result = result escape(substr(line, i, 1))
		} else if (letter == "*" && substr(line, i + 1, 1) == "*") {
			i++
			result = result font("B")
		} else if (letter == "*") {
			result = result font("I")
		} else if (letter == "`") {
			i++
			for (result = result "\\fB"; i <= n && substr(line, i, 1) != "`"; i++)
				result = result escape(substr(line, i, 1))
			result = result "\\fR"
		} else if ((letter == "<" && substr(line, i, 5) == "<http") || (letter == ">" && in_address)) {
			in_address = letter == "<"
		} else {
			result = result escape(letter)
		}
	}
	in_address = 0
	gsub(/\n\.br\n/, "\n.br\n", result)
	gsub(/\n[.']/, "&", result)
	return guard(result)
}

function escape(letter) {
	if (letter == "\\") return "\\e"
	if (letter == "-") return "\\-"
	if (letter == "^") return "\\(ha"
	if (letter == "~") return "\\(ti"
	if (letter == "`") return "\\(ga"
	if (letter == "'") return "\\(aq"
	if (letter == "\"") return "\\(dq"
	return letter
}

# A full stop at the begin of a line is text, except in our own .br.
function guard(result,    lines, n, i, all) {
	n = split(result, lines, "\n")
	all = ""
	for (i = 1; i <= n; i++) {
		if (lines[i] ~ /^\./ && lines[i] != ".br")
			lines[i] = "\\&" lines[i]
		all = all (i > 1 ? "\n" : "") lines[i]
	}
	return all
}

function end_block() {
	flush_text()
	if (in_code) {
		print ".fi"
		print in_definition ? ".in -4n" : ".RE"
		in_code = 0
	}
}

function begin_code() {
	flush_text()
	if (!in_code) {
		if (in_definition)
			print ".in +4n"
		else
			print (after_heading ? "" : ".PP\n") ".RS 4"
		after_heading = 0
		print ".nf"
		in_code = 1
	}
}

NR == 1 {
	sub(/^% */, "")
	split($0, parts, / *\| */)
	name = parts[1]
	section = name
	sub(/\(.*/, "", name)
	sub(/^[^(]*\(/, "", section)
	sub(/\).*/, "", section)
	print ".\\\" Made from Markdown by roff.awk."
	print ".TH \"" protect(name) "\" \"" section "\" \"" date "\" \"" footer "\" \"" parts[2] "\""
	next
}

/^# / {
	end_block()
	in_definition = 0
	heading = substr($0, 3)
	print ".SH " toupper(heading)
	wants_paragraph = 0
	after_heading = 1
	next
}

/^## / {
	end_block()
	in_definition = 0
	print ".SS " inline(substr($0, 4))
	wants_paragraph = 0
	after_heading = 1
	next
}

/^:   / {
	term = text
	text = ""
	end_block()
	print ".TP"
	print inline(term)
	in_definition = 1
	text = substr($0, 5)
	wants_paragraph = 0
	next
}

/^$/ {
	if (text != "" || in_code)
		after_blank = 1
	next
}

{
	is_indented = $0 ~ /^    /
	if (after_blank) {
		after_blank = 0
		if (in_code && is_indented && !in_definition) {
			print ""
		} else {
			end_block()
			if (in_definition && is_indented) {
				print ".IP"
			} else {
				wants_paragraph = 1
			}
		}
	}
	if (is_indented && in_definition) {
		text = text (text == "" ? "" : "\n") substr($0, 5)
	} else if (is_indented && text == "") {
		begin_code()
		print protect(substr($0, 5))
		wants_paragraph = 0
	} else {
		# a term of a definition begins without a paragraph: what comes next tells
		if (text == "" && wants_paragraph && !after_heading && !next_is_definition())
			print ".PP"
		wants_paragraph = after_heading = 0
		if (!is_indented)
			in_definition = in_definition && next_is_definition()
		text = text (text == "" ? "" : "\n") $0
	}
}

END { end_block() }

# Whether the next line is the text of a definition, so that this one is its term.
function next_is_definition() {
	return (NR + 1) in is_definition
}

# The page is read twice: first for where definitions are.
BEGIN {
	while ((getline line < ARGV[1]) > 0) {
		number++
		if (line ~ /^:   /)
			is_definition[number] = 1
	}
	close(ARGV[1])
}
