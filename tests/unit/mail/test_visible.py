"""What a person sees of a page, and how it stands out."""

from __future__ import annotations

import pytest

from pytest_agentmail.mail.extraction.page import Anchor, Line, Look, Mark, Page
from pytest_agentmail.mail.extraction.plain import page_of_text
from pytest_agentmail.mail.extraction.styles import declarations, parse_colour, parse_length
from pytest_agentmail.mail.extraction.visible import page_of_html


def seen(html: str) -> str:
    return page_of_html(html).visible_text


def look(html: str) -> Look:
    (line,) = [each for each in page_of_html(html).lines if each.text.strip()]
    return line.look_at(0)


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("", ""),
        ("<p>a</p><p>b</p>", "a\n\nb"),
        ("a<br>b", "a\nb"),
        ("a<br><br><br><br>b", "a\n\nb"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("<div> a \n b </div>", "a b"),
        ("a&nbsp;&amp;&#8203;b", "a &b"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<div style='white-space:pre-line'>a\nb</div>", "a\nb"),
        ("<tr><td>a</td><td>b</td></tr>", "ab"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>", "a b\nc"),
        ("<span style='display:block'>a</span><span>b</span>", "a\nb"),
        ("<div style='float:left'>a</div><div style='display:inline-block'>b</div>", "a b"),
        ("<noscript>a</noscript>", "a"),
        ("<div style='visibility:hidden'>a<span style='visibility:visible'>b</span></div>", "b"),
        ("<div style='visibility:collapse'>a</div>b", "b"),
        ("<div style='font-size:0'>a<span style='font-size:14px'>b</span></div>", "b"),
        ("<div style='font:0/0 a'>a</div><div style='font:bold 14px Arial'>b</div>", "a\nb"),
        ("<p style='font-size:xx-large'>a</p>", "a"),
        ("<p style='font-size:larger'>a</p>", "a"),
        ("<div style='height:1px;overflow:hidden'>a</div>b", "b"),
        ("<div style='height:1px'>a</div>b", "a\nb"),
        ("<div style='position:absolute;clip:rect(0 0 0 0)'>a</div>b", "b"),
        ("<div style='clip-path:inset(50%)'>a</div>b", "b"),
        ("<div style='transform:scale(0)'>a</div>b", "b"),
        ("<div style='left:-9999px'>a</div>b", "a\nb"),
        ("<p style='color:#fff'>a</p>b", "b"),
        ("<div style='background:url(x.png)'><p style='color:#fff'>a</p></div>", "a"),
        ("<table background='x.png'><tr><td style='color:#fff'>a</td></tr></table>", "a"),
        ("<div style='background:linear-gradient(red,blue)'><p style='color:#fff'>a</p></div>", "a"),
        ("<div style='background-color:transparent'><p style='color:#fff'>a</p>b</div>", "b"),
        ("<a href='x' style='mso-hide:all'>a</a>", "a"),
        ("<input type='text' value='a'><input type='hidden' value='b'><input type=checkbox>", "a"),
        ("<style>.a .b{display:none} p>#c{display:none} p:hover{display:none}</style>"
         "<div class=a><p><b class=b>1</b></p></div><p><i id=c>2</i></p><b class=b>3</b><p>4</p>", "3\n\n4"),
        ("<style>@media screen{.a{display:none}} @import 'x'; <!-- .b{display:none} --> *{color:red}</style>"
         "<p class=a>a</p><p class=b>b</p>", "a"),
        ("<style>.a,{display:none}}p{}q{color</style><p class=a>a</p><p>b</p>", "b"),
        ("<p style='display:none !important;display:block'>a</p>b", "b"),
        ("<p style='/* display:none */ color:red'>a</p>", "a"),
        ("<p>1</p><p>2</p><p>3</p><p>A</p>", "123A"),
        ("<p>1</p><p>2</p><p>x</p>", "1\n\n2\n\nx"),
        ("1 2 3 - 4 5 6", "123-456"),
        ("A B C D", "A B C D"),
    ],
)  # fmt: skip
def test_what_is_displayed(html, text):
    assert seen(html) == text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<b>a</b>", Look(bold=True)),
        ("<b style='font-weight:normal'>a</b>", Look()),
        ("<span style='font-weight:700'>a</span>", Look(bold=True)),
        ("<h1>a</h1>", Look(bold=True, large=True, heading=True)),
        ("<big style='font-size:2em'>a</big>", Look(large=True)),
        ("<font size=5>a</font>", Look(large=True)),
        ("<s>a</s>", Look(struck=True)),
        ("<blockquote type=cite>a</blockquote>", Look(quoted=True, indented=True)),
        ("<div class=gmail_quote>a</div>", Look(quoted=True)),
        ("<a href='tel:1'>a</a>", Look(dialled=True)),
        ("<div style='letter-spacing:5px'>a</div>", Look(framed=True)),
        ("<div style='border:1px dashed red'>a</div>", Look(framed=True)),
        ("<div style='background:#eee'><span>a</span></div>", Look(framed=True)),
        ("<table bgcolor='#eee'><tr><td>a</td></tr></table>", Look()),
    ],
)
def test_how_it_stands_out(html, expected):
    assert look(html) == expected


def test_marks_follow_joined_characters():
    (line,) = page_of_html("<b>Code</b> 1 2 3 4 <b>x</b>").lines
    assert line.text == "Code 1234 x"
    assert line.apart == ((5, "1 2 3 4"),)
    assert line.look_at(10) == Look(bold=True)


def test_anchors_know_where_they_stand():
    page = page_of_html(
        "<p>1</p><p>2</p><p>3</p><p>4</p><p>Hi <a href='\n x\ny '>there</a></p></a>"
    )
    (anchor,) = page.anchors
    assert (anchor.url, anchor.text) == ("xy", "there")
    assert page.lines[anchor.line].text[anchor.start :] == "there"


def test_pictures_speak_for_anchors():
    page = page_of_html("<a href=x><img alt='Logo'></a><a href=y><img></a><a href=z></a>")
    assert [(anchor.url, anchor.text) for anchor in page.anchors] == [("x", "Logo"), ("y", "")]


@pytest.mark.parametrize(
    ("value", "colour"),
    [
        ("#FFF", (255, 255, 255)), ("fff", (255, 255, 255)), ("#0000", False), ("#12345600", False),
        ("#123456ff", (18, 52, 86)), ("White", (255, 255, 255)), ("transparent", False),
        ("rgb(1, 2, 3)", (1, 2, 3)), ("rgb(100% 0% 0%)", (255, 0, 0)), ("rgba(1,2,3,0)", False),
        ("rgba(1,2,3,.5)", (1, 2, 3)), ("rgb(1,2)", None), ("hsl(0, 0%, 100%)", (255, 255, 255)),
        ("hsl(0, 0%, 50%)", None), ("inherit", None),
    ],
)  # fmt: skip
def test_colours(value, colour):
    assert parse_colour(value) == colour


@pytest.mark.parametrize(
    ("value", "pixels"),
    [("12px", 12), ("9pt", 12), ("2em", 32), ("50%", 8), ("0", 0), ("-99px", -99), ("auto", None)],
)
def test_lengths(value, pixels):
    assert parse_length(value) == pixels


def test_declarations():
    css = "a: b; c:url('x;y'); A : d !important; a: e;; broken"
    assert declarations(css) == {"a": "d", "c": "url('x;y')"}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("a\nb", ["a", "b"]),
        (f"{'word ' * 10}\ngoes on", [f"{'word ' * 10}goes on"]),
        (f"{'word ' * 10}end.\nNext", [f"{'word ' * 10}end.", "Next"]),
        (f"https://a.example/{'x1' * 25}\ny=2&z", [f"https://a.example/{'x1' * 25}y=2&z"]),
        (f"https://a.example/{'x1' * 25}\nThanks", [f"https://a.example/{'x1' * 25}", "Thanks"]),
        ("<https://a.example/\r\n  x>", ["<https://a.example/x>"]),
        ("> quoted", ["quoted"]),
        ("a\u200bb\xa0c", ["ab c"]),
    ],
)
def test_plain_text_is_put_together_again(text, lines):
    assert [line.text for line in page_of_text(text).lines] == lines


def test_looks_in_plain_text():
    (line,) = page_of_text("> the *code* is").lines
    assert line.look_at(5) == Look(bold=True, quoted=True)
    assert line.look_at(0) == Look(quoted=True)
    assert Page().visible_text == ""


def test_long_lines_are_cut_at_blanks_for_searching():
    words = "word " * 300
    bold = Mark(1490, 1499, Look(bold=True))
    page = Page(
        (Line(""), Line(words + "end", (bold,), ((1495, "1 2 3 4"),)), Line("x" * 2000)),
        (Anchor("u", "end", 1, 1500, button=False),),
    )
    cut = page.cut()
    assert "".join(line.text for line in cut.lines) == words + "end" + "x" * 2000
    assert [len(line.text) for line in cut.lines] == [0, 799, 704, 2000]
    assert cut.lines[2].look_at(695) == Look(bold=True)
    assert cut.lines[2].apart == ((696, "1 2 3 4"),)
    (anchor,) = cut.anchors
    assert cut.lines[anchor.line].text[anchor.start :] == "end"
    glued = Page((Line("验证码" * 600),)).cut()
    assert [len(line.text) for line in glued.lines] == [800, 800, 200]


def test_a_long_run_of_single_characters_is_no_code():
    assert (
        page_of_html("".join(f"<p>{n % 10}</p>" for n in range(40))).visible_text.count("\n") > 40
    )
