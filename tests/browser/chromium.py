"""Chromium and a running server of the app: starting them, waiting for a page, moving its controls, reading it."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
SECONDS = 180
HARMLESS = re.compile(r"Uvicorn server started on |^  (You can now view your Streamlit app|URL: http|Stopping\.\.\.)")
NO_CHROMIUM = "no Chromium on this machine: apt-get install chromium"


def chromium_path() -> str | None:
    """Where Chromium is on this machine, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Server:
    """The app, started as the README says, or another script; on a free port, with its log in a file."""

    def __init__(self, log: Path, cache: Path, script: str | Path = "app.py", **environment: str) -> None:
        with socket.socket() as sock:
            sock.bind(("127.0.0.1", 0))
            port = sock.getsockname()[1]
        self.url, self.log, self.cache = f"http://127.0.0.1:{port}", log, cache
        command = [sys.executable, "-m", "streamlit", "run", str(script), "--server.port", str(port)]
        command += ["--server.address", "127.0.0.1", "--server.headless", "true"]
        with log.open("w") as stream:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={key: value for key, value in os.environ.items() if key != "OPENBLAS_NUM_THREADS"}
                | {"XMLCORE_CACHE": str(cache), **environment},
            )
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                    return
            except OSError:
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise RuntimeError(f"the app did not start:\n{log.read_text()}") from None
                time.sleep(0.1)

    def stop(self) -> None:
        """Ends the server, at once if it must be."""
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def complaints(self) -> list[str]:
        """What the server's log says beside what it says at any start and end: Streamlit's warnings bear no mark."""
        return [line for line in self.log.read_text().splitlines() if line and not HARMLESS.search(line)]


def wait_until_idle(page) -> None:
    """Until the script has ended, nothing is a placeholder, and it has stayed so for half a second from now."""
    page.evaluate("window.__idle = 0")
    page.wait_for_function(
        """() => {
            const idle = document.querySelector("[data-test-script-state='notRunning']")
                && !document.querySelector("[data-testid='stSkeleton']");
            window.__idle = idle ? (window.__idle || performance.now()) : 0;
            return idle && performance.now() - window.__idle > 500;
        }""",
        timeout=SECONDS * 1000,
        polling=50,
    )


def wait_until_factorised(page) -> None:
    """Until the sidebar tells that every λ is at hand, and the page is idle."""
    sidebar = page.locator("[data-testid='stSidebar']")
    sidebar.get_by_text("factorised in").or_(sidebar.get_by_text("read from the cache")).first.wait_for()
    wait_until_idle(page)


def slider(page, label: str):
    """The handle of the slider with exactly this label."""
    return page.get_by_role("group", name=label, exact=True).get_by_role("slider").first


def slider_value(page, label: str) -> float:
    """Where the slider with exactly this label stands."""
    return float(slider(page, label).evaluate("handle => handle.getAttribute('aria-valuenow') ?? handle.value"))


def set_slider(page, label: str, value: float) -> None:
    """Moves a slider with the keyboard to a value, in strides where it is far, and waits for the answer."""
    handle = slider(page, label)
    stride = float(handle.evaluate("handle => (handle.max - handle.min) / 8"))
    for _ in range(500):
        now = slider_value(page, label)
        if abs(now - value) < 1e-9:
            wait_until_idle(page)
            if abs(slider_value(page, label) - value) < 1e-9:
                return
        else:
            key = "ArrowRight" if now < value else "ArrowLeft"
            handle.press(f"Shift+{key}" if abs(now - value) > stride else key)
    raise AssertionError(f"the slider {label} did not reach {value}")


def click_in_table(page, table, x: float, y: float, chosen: str) -> None:
    """Clicks into a table, x and y pixels from its corner, until the part of it with this selector is there.

    A table is drawn on a canvas and redrawn while a page grows: a click in between chooses something else, or nothing.
    """
    for _ in range(5):
        box = table.bounding_box()
        page.mouse.click(box["x"] + x, box["y"] + y)
        for _ in range(50):
            if table.locator(chosen).count():
                return
            page.wait_for_timeout(100)
    raise AssertionError(f"five clicks have not chosen {chosen}")


def card_numbers(page) -> list[float]:
    """The twelve numbers of the cards: six of XML-ridge, then six with PS."""
    texts = page.locator(".st-key-cards [data-testid='stMetricValue']").all_inner_texts()
    return [float(text) for text in texts]
