// Opens pages in Chromium and tells what it saw: node look.mjs FOLDER-WITH-node_modules CHROMIUM < jobs.json
// A job: {url, width, height, scheme, media, steps: [JavaScript], axe, screenshot, whole}; the answer is a list of
// {console, requests, paint, axe, answers}, one for each job.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const [folder, chromium] = process.argv.slice(2);
const require = createRequire(`${folder}/package.json`);
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const jobs = JSON.parse(readFileSync(0, "utf8"));

const browser = await puppeteer.launch({
  executablePath: chromium,
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
});
const answers = [];
try {
  for (const job of jobs) answers.push(await look(job));
} finally {
  await browser.close();
}
process.stdout.write(JSON.stringify(answers));

async function look(job) {
  const page = await browser.newPage();
  const said = [], requests = [];
  page.on("console", (message) => said.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => said.push(`error: ${error.message}`));
  page.on("dialog", async (dialog) => { said.push(`dialog: ${dialog.message()}`); await dialog.dismiss(); });
  page.on("request", (request) => requests.push(request.url().slice(0, 200)));
  await page.setViewport({ width: job.width ?? 1200, height: job.height ?? 900, deviceScaleFactor: job.scale ?? 1 });
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: job.scheme ?? "light" },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
  if (job.media) await page.emulateMediaType(job.media);
  await page.goto(job.url, { waitUntil: "load" });
  await page.waitForFunction(() => document.documentElement.dataset.ready === "1", { timeout: 20000 });
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? null);
  const answers = [];
  for (const step of job.steps ?? []) {
    if (step.key) await page.keyboard.press(step.key);
    else if (step.type) await page.keyboard.type(step.type);
    else answers.push(await page.evaluate(step.run));
  }
  if (job.screenshot) await page.screenshot({ path: job.screenshot, fullPage: job.whole ?? false });
  let found = null;
  if (job.axe) {
    // In the page's own world, as a person's browser would have it: its policy must not stop what DevTools inserts.
    await page.evaluate(axe);
    found = await page.evaluate(async () =>
      (await axe.run(document)).violations.map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 4).map((n) => n.html.slice(0, 200) + " | " + n.failureSummary) })));
  }
  await page.close();
  return { console: said, requests, paint, axe: found, answers };
}
