#!/usr/bin/env python3
"""plot_page.py --bin FOLDER [--screenshots FOLDER]: opens pages of `titan-ckpt plot -o x.html` in a real headless browser, narrow and wide, with
one run and with three: the console stays empty, nothing is fetched, no two texts overlap, nothing lies outside of the page, and hover, legend,
logarithmic axes and the dark theme work. Without a browser it says so and exits with 77, which ctest shows as skipped.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"]
SKIPPED = 77

# Runs within the page, and tells the page around it what it saw.
PROBE = r"""
<script>
addEventListener("error", (event) => report({ error: String(event.message) }));
const report = (result) => parent.postMessage(JSON.stringify({ name: location.hash.slice(1), ...result }), "*");
const texts = () => [...document.querySelectorAll("svg text, h2, button, #how")].filter((t) => t.textContent && t.getClientRects().length > 0);
function faults() {
  const found = [], boxes = texts().map((t) => [t.textContent, t.getBoundingClientRect()]);
  for (const [text, box] of boxes) if (box.left < -0.5 || box.right > innerWidth + 0.5) found.push("outside: " + text);
  boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
    if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 2 && q.top < p.bottom - 2) found.push("overlap: " + a + " | " + b);
  }));
  for (const path of document.querySelectorAll("path.curve")) if (/NaN|Infinity/.test(path.getAttribute("d"))) found.push("a path that is no path");
  if (document.documentElement.scrollWidth > innerWidth) found.push("the page is wider than its window");
  return found;
}
setTimeout(() => {
  const seen = { faults: faults(), curves: document.querySelectorAll("path.curve").length, width: innerWidth }, tip = document.getElementById("tip");
  const svg = document.querySelector("svg"), box = svg.getBoundingClientRect();
  const move = (share) => svg.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + 56 + share * (box.width - 70), clientY: box.top + 60, bubbles: true }));
  move(0.5);
  seen.tip = tip.innerText;
  seen.tipShown = getComputedStyle(tip).visibility;
  const at = tip.getBoundingClientRect();
  if (at.left < 0 || at.right > innerWidth) seen.faults.push("the values lie outside");
  move(0);
  seen.first = tip.innerText;
  move(1);
  seen.last = tip.innerText;
  svg.dispatchEvent(new PointerEvent("pointerleave"));
  seen.tipAfter = getComputedStyle(tip).visibility;
  const click = (id) => document.getElementById(id).click();
  click("logx");
  click("logy");
  seen.logTitle = document.querySelector("h2").textContent;
  seen.faults.push(...faults().map((fault) => "logarithmic, " + fault));
  move(0.5);
  seen.logTip = tip.innerText;
  click("logx");
  click("logy");
  seen.again = document.querySelectorAll("path.curve").length;
  const back = () => getComputedStyle(document.body).backgroundColor, light = back();
  click("theme");
  seen.themes = [light, back()];
  const buttons = [...document.querySelectorAll("#legend button")];
  buttons[0].click();
  seen.hidden = document.querySelectorAll("path.curve").length;
  buttons.slice(1).forEach((button) => button.click());
  seen.faults.push(...faults().map((fault) => "all hidden, " + fault));
  seen.none = document.querySelectorAll("path.curve").length;
  seen.fetched = performance.getEntriesByType("resource").length;
  report(seen);
}, 200);
</script>
"""
FRAMES = """<!DOCTYPE html><meta charset="utf-8"><pre id="seen"></pre>FRAMES
<script>
addEventListener("message", (event) => { document.getElementById("seen").textContent += event.data + "\\n"; });
SOURCES
</script>"""


def browser():
    for name in [os.environ.get("TITAN_BROWSER", ""), *BROWSERS]:
        if name and (found := shutil.which(name)):
            return found
    return None


def run_browser(program, folder, *words):
    """Returns standard output and what the console said."""
    done = subprocess.run([program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr",
                           f"--user-data-dir={folder}/profile", "--virtual-time-budget=4000", *words], capture_output=True, text=True, timeout=60)
    return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def check(name, seen, runs):
    """What is wrong with what a page said about itself."""
    wrong = [f"{name}: {fault}" for fault in seen.get("faults", [])]
    def want(what, truth):
        if not truth:
            wrong.append(f"{name}: {what}: {json.dumps(seen)}")
    want("an error", "error" not in seen)
    if wrong:
        return wrong
    per_run = seen["curves"] // runs
    want("curves of four panels", seen["curves"] == per_run * runs and per_run in (4, 7))
    want("values under the pointer", seen["tipShown"] == "visible" and re.match(r"step \d", seen["tip"]))
    want("a value for each run", seen["tip"].count("●") >= runs)
    want("the first step", seen["first"].startswith("step 1\n"))
    want("the last step", seen["last"].startswith("step 100\n" if runs > 1 else "step 80\n"))
    want("no values without a pointer", seen["tipAfter"] == "hidden")
    want("a logarithmic axis that says so", "logarithmic" in seen["logTitle"])
    want("values on logarithmic axes", re.match(r"step \d+\n", seen["logTip"]))
    want("linear axes again", seen["again"] == seen["curves"])
    want("two themes", len(set(seen["themes"])) == 2)
    want("a run that hides", seen["hidden"] == seen["curves"] - per_run and seen["none"] == 0)
    want("nothing from a network", seen["fetched"] == 0)
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--screenshots")
    options = parser.parse_args()
    program = browser()
    if program is None:
        print("not run: no browser")
        return SKIPPED
    plot = [os.path.join(os.path.abspath(options.bin), "titan-ckpt"), "plot"]
    wrong = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        for words in (["novel", "steps=80", "restarts=30,60", "meshes=2x2,2x2,4x1", "validation=20"], ["hot", "steps=60", "lr=1e-3", "base=7"],
                      ["a-run-with-a-rather-long-name-that-has-to-fold-somewhere", "steps=100", "lr=1e-4", "restarts=50"]):
            subprocess.run([sys.executable, HERE / "tools/metrics", *words], cwd=folder, check=True)
        pages = {"one": (["novel"], 1), "three": (["novel", "hot", "a-run-with-a-rather-long-name-that-has-to-fold-somewhere", "--smooth", "0.6"], 3)}
        frames, sources = [], []
        for page, (words, _) in pages.items():
            subprocess.run([*plot, *words, "-o", f"{page}.html"], cwd=folder, check=True, capture_output=True)
            (folder / f"probed-{page}.html").write_text((folder / f"{page}.html").read_text().replace("</body>", PROBE + "</body>"))
            for width in (360, 800, 1600):
                frames.append(f'<iframe id="{page}-{width}" width="{width}" height="1200"></iframe>')
                sources.append(f'document.getElementById("{page}-{width}").src = "probed-{page}.html#{page}-{width}";')
        (folder / "frames.html").write_text(FRAMES.replace("FRAMES", "\n".join(frames)).replace("SOURCES", "\n".join(sources)))
        dom, console = run_browser(program, folder, "--window-size=1700,1200", "--dump-dom", f"file://{folder}/frames.html")
        wrong += [f"the console says: {line}" for line in console]
        found = re.search(r'<pre id="seen">(.*?)</pre>', dom, re.S)
        seen = {one["name"]: one for one in map(json.loads, (found[1] if found else "").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&").splitlines())}
        for page, (_, runs) in pages.items():
            for width in (360, 800, 1600):
                key = f"{page}-{width}"
                wrong += check(key, seen[key], runs) if key in seen else [f"{key}: the page said nothing"]
        for page in pages:
            _, console = run_browser(program, folder, "--window-size=1280,900", f"--screenshot={folder}/{page}.png", f"file://{folder}/{page}.html")
            wrong += [f"the console says: {line}" for line in console]
            picture = folder / f"{page}.png"
            if not picture.exists() or picture.stat().st_size < 20_000:
                wrong.append(f"{page}: no picture, or an empty one")
            elif options.screenshots:
                shutil.copy(picture, options.screenshots)
    print("\n".join(wrong) if wrong else f"{len(seen)} frames of 2 pages in {program}: in order")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
