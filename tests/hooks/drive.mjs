// Feeds a handler the events of a JSON list, one after the other, and prints what became of them.
//   node drive.mjs HANDLER EVENTS-AS-JSON
// An event may be {"wait": milliseconds}, {"write": [path, text]} or {"remove": path}; "bootstrapFiles" is filled in.
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [file, events] = process.argv.slice(2);
const handler = (await import(pathToFileURL(file).href)).default;
const results = [];
for (const event of JSON.parse(events)) {
  if (event?.wait) {
    await new Promise((done) => setTimeout(done, event.wait));
  } else if (event?.write) {
    mkdirSync(path.dirname(event.write[0]), { recursive: true });
    writeFileSync(event.write[0], event.write[1]);
  } else if (event?.remove) {
    rmSync(event.remove, { recursive: true, force: true });
  } else {
    let error = null;
    try {
      if (event?.circular) event.context = { cfg: event, self: event };
      await handler(event);
    } catch (caught) {
      error = String(caught);
    }
    results.push({ error, files: event?.context?.bootstrapFiles ?? null });
  }
}
console.log(JSON.stringify(results));
