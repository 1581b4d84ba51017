"""The page without a browser: how tests open it, and find what it shows."""

PAGE = "from unmet.app.page import main; main()"


def open_page():
    from streamlit.testing.v1 import AppTest  # where it is missing, the tests skip

    return AppTest.from_string(PAGE, default_timeout=120).run()


def upload(table, name="mine.csv"):
    """Open the page and bring a file."""
    data = table if isinstance(table, bytes) else table.write_csv().encode()
    return open_page().file_uploader(key="past").upload(name, data, "text/csv").run()


def metrics(page):
    return {each.label: each.value for each in page.metric}


def texts(page):
    shown = [*page.markdown, *page.caption, *page.error, *page.title, *page.subheader]
    return "\n".join(each.value for each in shown)


def select(page, label):
    return next(each for each in [*page.selectbox, *page.multiselect] if each.label == label)


def control(page, ending):
    kinds = [page.slider, page.number_input, page.toggle, page.select_slider, page.text_input]
    every = [each for kind in [*kinds, page.file_uploader] for each in kind]
    return next(each for each in every if (each.key or "").endswith(ending))
