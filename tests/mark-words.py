#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""mark-words.py PROGRAM…: runs a program in a language whose every letter is a look-alike.

Its messages are those of po/de.po, in English, with each letter a to z replaced by one of another
alphabet. What then still has plain letters was never given to gettext, or was put together from
parts that were not.
"""
import ctypes
import locale
import os
import pathlib
import re
import subprocess
import sys
import tempfile

top = pathlib.Path(__file__).resolve().parent.parent
# What stays: conversions, fields of messages, markup, escapes.
kept = re.compile(r'%[-+ #0-9.*$]*(?:hh|h|ll|l|z|j)?[a-zA-Z%]|\{[^}]*\}|<[^>]*>|&\w+;|\\.')


def mark(text):
    """The text in MATHEMATICAL SANS-SERIF letters."""
    def letters(part):
        return re.sub('[A-Za-z]', lambda m: chr(
            (0x1D5A0 if m[0].isupper() else 0x1D5BA) + ord(m[0].lower()) - ord('a')), part)
    out, at = '', 0
    for one in kept.finditer(text):
        out += letters(text[at:one.start()]) + one[0]
        at = one.end()
    return out + letters(text[at:])


def words_of(entry, key):
    found = re.search(rf'^{key} ((?:".*"\n?)+)', entry, re.M)
    return ''.join(re.findall(r'^(?:.*? )?"(.*)"$', found[1], re.M)) if found else None


with tempfile.TemporaryDirectory() as folder:
    lines = ['msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n']
    for entry in (top / 'po' / 'de.po').read_text().split('\n\n')[1:]:
        one, many = words_of(entry, 'msgid'), words_of(entry, 'msgid_plural')
        if not one or entry.startswith('#~'):
            continue
        context = re.search(r'^msgctxt .*$', entry, re.M)
        flag = '#, c-format\n' if '%<PRI' in one else ''  # or msgfmt leaves it as it is
        lines.append(flag + (context[0] + '\n' if context else '') + f'msgid "{one}"\n' + (
            f'msgid_plural "{many}"\nmsgstr[0] "{mark(one)}"\nmsgstr[1] "{mark(many)}"\n' if many
            else f'msgstr "{mark(one)}"\n'))
    lines[0] = lines[0].replace('UTF-8\\n"', 'UTF-8\\nPlural-Forms: nplurals=2; plural=n!=1;\\n"')
    target = pathlib.Path(folder, 'zz', 'LC_MESSAGES')
    target.mkdir(parents=True)
    pathlib.Path(folder, 'zz.po').write_text('\n'.join(lines))
    marked = mark('Accuracy')
    subprocess.run(['msgfmt', '-o', target / 'tomodesk.mo', folder + '/zz.po'], check=True)
    # Newer C libraries translate nothing where no locale but C.UTF-8 is there.
    os.environ['LANGUAGE'] = 'zz'
    locale.setlocale(locale.LC_ALL, 'C.UTF-8')
    library = ctypes.CDLL(None)
    library.bindtextdomain(b'tomodesk', folder.encode())
    library.dgettext.restype = ctypes.c_char_p
    if library.dgettext(b'tomodesk', b'Accuracy').decode() != marked:
        print('1..0 # SKIP the C library translates nothing in the locale C.UTF-8')
        sys.exit(0)
    sys.exit(subprocess.run(sys.argv[1:], check=False, env=dict(
        os.environ, LANGUAGE='zz', TOMODESK_WORDS=folder, TOMODESK_MARKED='1')).returncode)
