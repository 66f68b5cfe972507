"""A page in a browser without a window: Chromium, told what to do over the DevTools protocol by a pipe.

    with Browser() as browser:
        page = browser.open("file:///tmp/run.html", width=1280, height=800)
        page.evaluate("document.title")

What goes wrong in the page (errors, messages at the console, violations of its policy) and what it asks the network
for is kept: page.complaints, page.requests."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile

PROGRAM = shutil.which("chromium")
PATIENCE_S = 240  # for one answer: a machine that is busy takes long


def can_start():
    """Whether there is a browser, and this machine lets it run: a container may not."""
    try:
        with Browser() as browser:
            return bool(browser.send("Browser.getVersion")["product"])
    except (OSError, RuntimeError):
        return False


class Browser:
    def __init__(self, arguments=()):
        self.home = tempfile.TemporaryDirectory()
        to_read, self.to_write = os.pipe()
        self.from_read, to_browser = os.pipe()

        def pipes():  # the protocol's descriptors: 3 is read by the browser, 4 written
            source, target = os.dup(to_read), os.dup(to_browser)
            os.dup2(source, 3)
            os.dup2(target, 4)

        self.process = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-extensions", "--disable-component-update", "--mute-audio",
             "--force-color-profile=srgb", "--remote-debugging-pipe", f"--user-data-dir={self.home.name}", *arguments,
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, close_fds=False,
            preexec_fn=pipes, start_new_session=True, env={**os.environ, "HOME": self.home.name})
        os.close(to_read)
        os.close(to_browser)
        self.rest, self.number, self.pages = b"", 0, {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(30)
        except (OSError, RuntimeError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to_write)
        os.close(self.from_read)
        self.home.cleanup()

    def receive(self):
        while b"\0" not in self.rest:
            if not select.select([self.from_read], [], [], PATIENCE_S)[0]:
                raise RuntimeError("the browser does not answer")
            piece = os.read(self.from_read, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has ended")
            self.rest += piece
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def send(self, method, session=None, **parameters):
        """Send, and return the answer; what happens meanwhile goes to its page."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self.to_write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            page = self.pages.get(answer.get("sessionId"))
            if page and "method" in answer:
                page.happened(answer["method"], answer["params"])

    def open(self, url, width=1280, height=800, is_dark=False, is_touch=False):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=is_touch)
        page.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])
        page.send("Page.navigate", url=url)
        page.evaluate("""new Promise(done => { const look = () => document.readyState === "complete" &&
            !document.querySelector("[aria-busy]") && document.getElementById("app") ? done() : setTimeout(look, 10); look(); })""")
        return page


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.complaints, self.requests = [], []

    def happened(self, method, parameters):
        if method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled":
            self.complaints.append(" ".join(str(one.get("value", one.get("description"))) for one in parameters["args"]))
        elif method == "Log.entryAdded":
            self.complaints.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])

    def send(self, method, **parameters):
        return self.browser.send(method, self.session, **parameters)

    def evaluate(self, expression):
        """The value of a JavaScript expression, awaited."""
        for _ in range(100):
            try:
                result = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
                break
            except RuntimeError as error:  # the document was replaced while the expression ran
                if not any(word in str(error) for word in ("context", "navigated", "collected")):
                    raise
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def key(self, key):
        for kind in ("keyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else "")

    def wheel(self, x, y, dy, dx=0, modifiers=0):
        self.send("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=dx, deltaY=dy, modifiers=modifiers)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def drag(self, x0, y0, x1, y1):
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=x0, y=y0, button="left", clickCount=1)
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x1, y=y1, button="left", buttons=1)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=x1, y=y1, button="left", clickCount=1)

    def frame(self):
        """Wait until what was asked for is drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))")

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"]))
