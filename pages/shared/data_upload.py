"""The Data page's upload: files into a folder of their own, recognised, read, and shown before they are used.

What is read is kept in the session only; the data set that was in use stays so until the visitor uses the new one.
"""

from __future__ import annotations

from contextlib import nullcontext, suppress
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

import streamlit as st
from streamlit.runtime.uploaded_file_manager import UploadedFile

from pages.shared import data_jobs
from pages.shared.data_jobs import Found, Job, found_in
from pages.shared.frame import plain_markdown
from xmlcore import DataError
from xmlcore.readers import FORMATS, LIMITS, Recognition, read, recognise
from xmlcore.readers.files import DataFile, role, storable_name
from xmlcore.readers.names import is_companion
from xmlcore.units import in_units

ROUND, FILES, JOB = "_upload_round", "_upload_files", "_upload_job"
# What was chosen, apart from the widgets: these are forgotten whenever they are not drawn.
FORMAT, SPLIT = "_upload_format", "_upload_split"
FORMAT_KEY, SPLIT_KEY = "upload_format", "upload_split"
ROLES = {"by its name": "", "training": "train", "test": "test"}
MOST_ROLES = 6


def limits_text() -> str:
    """The bounds on an upload, in a sentence."""
    return (
        f"Up to {in_units(LIMITS.max_upload_bytes)} in at most {LIMITS.max_files:,} files, and "
        f"{in_units(LIMITS.max_expanded_bytes)} once unpacked. Only this session of yours can see them, until you load "
        "the page anew. The server keeps them, and what was computed of them, until it needs the room."
    )


def forget() -> None:
    """Empties the upload: a callback."""
    st.session_state[ROUND] = st.session_state.get(ROUND, 0) + 1
    _forget_choices()


def _forget_choices() -> None:
    """Lets go of the files, and of what was chosen for them and read of them: a callback."""
    for key in (FILES, JOB, FORMAT, SPLIT):
        st.session_state.pop(key, None)


def section() -> Found | None:
    """The uploader and its choices; what was found, where it can be used."""
    files = _files()
    st.caption(limits_text())
    if not files:
        return None
    job = _job(files, _named(files))
    if not job.wait():
        data_jobs.watch(job, "Your files are being read")
        return None
    if job.error:
        _choices(None)
        st.error(f"{plain_markdown(job.error)}. The data set in use stays.", icon=":material/error:")
        return None
    found: Found = job.result
    _choices(found.recognition)
    if found.error is not None:
        st.error(plain_markdown(found.error), icon=":material/error:")
        st.caption("The data set in use stays as it is. The formats are shown under “Formats”.")
        return None
    return found


def _files() -> list[UploadedFile]:
    """The files of the uploader, which stay the session's when the visitor has been to another page meanwhile."""
    state = st.session_state
    files = st.file_uploader(
        "All files of one data set, or an archive of them",
        accept_multiple_files=True,
        key=f"upload_{state.get(ROUND, 0)}",
        on_change=_forget_choices,
        help="The format is recognised by the content. Train and test are told apart by names such as train.txt and "
        "test.txt; without a test file, a fifth of the instances is set aside at random.",
    )
    if files:
        state[FILES] = files
    elif FILES in state:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(f"Still here: {plain_markdown(', '.join(file.name for file in state[FILES][:MOST_ROLES]))}")
            st.button("Forget them", key="forget_upload", on_click=forget)
    return state.get(FILES, [])


def _named(files: list[UploadedFile]) -> list[str]:
    """The files' names, with the role in them that the visitor gives where names do not tell."""
    names = [storable_name(file.name) for file in files]
    data = [name for name in names if not _is_beside(name)]
    unclear = [name for name in data if role(DataFile(name, Path(name))) is None]
    if len(data) < 2 or not unclear or len(set(names)) < len(names):
        return names
    with st.expander("Which file is for training, which for test?", expanded=len(data) == 2):
        for name in unclear[:MOST_ROLES]:
            chosen = ROLES[st.selectbox(plain_markdown(name), list(ROLES), key=f"role of {name}")]
            if chosen:
                path = PurePosixPath(name)
                names[names.index(name)] = f"{path.stem}_{chosen}{path.suffix}"
    return names


def _is_beside(name: str) -> bool:
    return is_companion(DataFile(name, Path(name))) or name.lower().endswith(".xml")


def _job(files: list[UploadedFile], names: list[str]) -> Job[Found]:
    """The reading of these files with these choices: the one that runs already, or a new one."""
    state = st.session_state
    asked = (tuple(names), state.get(FORMAT), state.get(SPLIT, 1) - 1)
    kept = state.get(JOB)
    if kept is None or kept[0] != asked:
        kept = state[JOB] = (asked, Job(lambda _: _read(files, *asked)))
    return kept[1]


def _read(files: list[UploadedFile], names: tuple[str, ...], format: str | None, split_column: int) -> Found:
    """Writes the files into a folder of their own and reads them; the folder is gone afterwards."""
    recognition = None
    with TemporaryDirectory(prefix="xmlcore-") as folder:
        paths = []
        for number, (name, file) in enumerate(zip(names, files, strict=True)):
            # A folder for each: files of one name must reach the reader, which says so.
            path = Path(folder, str(number), name)
            path.parent.mkdir()
            path.write_bytes(file.getbuffer())
            paths.append(path)
        try:
            with suppress(DataError) if format else nullcontext():  # what the visitor says needs no recognition
                recognition = recognise(paths)
            data = read(paths, format=format, split_column=split_column)
            return found_in(data, keep=True, recognition=recognition)
        except DataError as error:
            return Found(names[0], recognition=recognition, error=str(error).replace(f"{folder}/", ""))


def _choices(recognition: Recognition | None) -> None:
    """The format with its reason, the other formats that it could be, and which split to use."""
    state = st.session_state
    claims = {claim.format: claim for claim in (recognition, *recognition.alternatives)} if recognition else {}
    recognised = next(iter(claims), None)
    others = [name for name in FORMATS if name not in claims]
    state[FORMAT_KEY] = state.get(FORMAT) or recognised

    def choose_format() -> None:
        state[FORMAT] = None if state[FORMAT_KEY] == recognised else state[FORMAT_KEY]

    def choose_split() -> None:
        state[SPLIT] = int(state[SPLIT_KEY])

    if recognition:
        st.markdown(f"Recognised as **{FORMATS[recognition.format].title}**: {plain_markdown(recognition.reason)}.")
    left, right = st.columns(2)
    chosen = left.selectbox(
        "Read it as",
        [*claims, *others],
        key=FORMAT_KEY,
        on_change=choose_format,
        format_func=lambda name: FORMATS[name].title + ("" if name in claims else " (not recognised)"),
        placeholder="Choose a format",
        help="; ".join(f"{FORMATS[name].title}: {plain_markdown(claim.reason)}" for name, claim in claims.items()),
    )
    splits = claims[chosen].split_columns if chosen in claims else 0
    if splits > 1:
        state[SPLIT_KEY] = min(state.get(SPLIT, 1), splits)
        right.number_input(
            f"Split, of {splits}",
            1,
            splits,
            key=SPLIT_KEY,
            on_change=choose_split,
            help="The column of the split files.",
        )
