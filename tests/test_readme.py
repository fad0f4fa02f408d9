"""The README's picture is what its code draws; it is short."""

import re

import readme_picture
from pictures import assert_drawn_alike, pixels


def test_the_picture_is_the_chart_above_it(tmp_path):
    assert_drawn_alike(readme_picture.picture(), readme_picture.draw, tmp_path)


def test_the_card_is_the_chart_with_name_and_pitch(tmp_path):
    assert_drawn_alike(readme_picture.CARD, readme_picture.draw_card, tmp_path)
    assert pixels(readme_picture.CARD).shape[:2] == (630, 1200)


def test_readme_and_book_begin_with_one_pitch():
    book = readme_picture.README.parent / "notebooks"
    pitch = readme_picture.pitch()
    assert f"**{pitch}**" in (book / "index.md").read_text(encoding="utf-8")
    assert f'"{pitch}"' in (book / "conf.py").read_text(encoding="utf-8")


def test_what_the_readme_links_to_is_there():
    text = readme_picture.README.read_text(encoding="utf-8")
    links = re.findall(r"\]\((?!https?://|#)([^)#]*)", text)
    assert len(links) >= 20
    missing = [link for link in links if not (readme_picture.README.parent / link).exists()]
    assert not missing


def test_it_is_read_in_two_minutes_and_has_two_commands():
    text = readme_picture.README.read_text(encoding="utf-8")
    assert len(text.split()) <= 900
    commands = re.findall(r"^```sh\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)
    assert commands == [
        "pip install . && python -m polars_graded evaluate",
        'pip install -e ".[test,peers]" && pytest',
    ]
