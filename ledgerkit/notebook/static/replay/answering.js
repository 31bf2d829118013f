// Answers without Python: placements are intervals of steps, so every context of a run follows from one list of them.
// They are the answers of ledgerkit/notebook/pages.py, and tests hold both against each other.

class Answers {
  constructor(data) {
    this.data = data;
    this.byRow = new Map(data.places.map((place, row) => [row, place]));
  }

  answer(asked) {
    const known = { timeline: "timeline", steps: "steps", look: "look", rows: "rows", part: "part", find: "find" };
    const name = Object.hasOwn(known, asked.kind) ? known[asked.kind] : null;
    const said = name ? this[name](asked) : { error: `This page knows no ${asked.kind}.` };
    return { ...said, kind: asked.kind, id: asked.id };
  }

  timeline({ strategy }) {
    const { bins, width } = this.data.strategies[strategy];
    return { bins, width };
  }

  steps({ strategy, start, count }) {
    return { start, rows: this.data.strategies[strategy].steps.slice(start, start + count) };
  }

  // What stands in a step's context, in its order.
  context(strategy, step) {
    return this.data.strategies[strategy].placements.filter(([, from, to]) => from <= step && step < to);
  }

  sight(strategy, step) {
    if (this.seen?.strategy === strategy && this.seen.step === step) return this.seen;
    const now = this.context(strategy, step);
    const before = new Map(this.context(strategy, step - 1).map((one) => [one[0], one]));
    const placed = new Map();
    for (const one of now) if (one[0] !== null && !placed.has(one[0])) placed.set(one[0], one);
    const history = this.data.places.map((place, row) => this.historyRow(place, row, placed.get(row), before.get(row), strategy, step));
    const context = now.map(([row, , , tokens, section, rendition]) =>
      ({ row, tokens, section, rendition, state: row === null ? "in" : history[row].state }));
    const moved = history.filter((one) => ["new", "changed", "left"].includes(one.state));
    const out = history.filter((one) => ["out", "left"].includes(one.state));
    this.seen = { strategy, step, lists: { history, context, moved, out } };
    return this.seen;
  }

  historyRow(place, row, now, was, strategy, step) {
    const [, , visibleFrom, absence, endsAt] = place;
    let state = "out";
    if (now) state = was ? (was[5] === now[5] ? "in" : "changed") : "new";
    else if (was) state = "left";
    else if ((visibleFrom ?? 0) > step) state = "later";
    let why = null;
    if (state === "out" || state === "left") {
      const compacted = this.data.strategies[strategy].follows && endsAt !== null && endsAt <= step;
      why = absence ?? (compacted ? this.data.reasons.compacted : this.data.reasons.otherwise);
    }
    return { row, state, why, tokens: now?.[3], rendition: now?.[5] ?? null };
  }

  look(asked) {
    const { strategy, step } = asked;
    const { history, context, out } = this.sight(strategy, step).lists;
    const at = history.findIndex((_, row) => this.data.places[row][0] === step && this.data.places[row][1] === 1);
    const call = this.data.strategies[strategy].steps[step] ?? null;
    return {
      step, strategy, call,
      tokens: context.reduce((sum, one) => sum + one.tokens, 0),
      states: Object.fromEntries(["in", "new", "changed", "left", "out", "later"].map((name) => [name, history.filter((one) => one.state === name).length])),
      sections: this.sections(context),
      reasons: reasonsOf(out),
      time: this.data.times[step] ?? "",
      at: at < 0 ? null : at,
      withheld: this.data.withheld,
      lists: { history: this.page("history", asked, asked.history), context: this.page("context", asked, asked.context) },
    };
  }

  sections(context) {
    return this.data.sections.map((name, number) => {
      const here = context.filter((one) => one.section === number);
      return [name, here.reduce((sum, one) => sum + one.tokens, 0), here.length];
    }).filter(([, , parts]) => parts);
  }

  rows(asked) {
    return this.page(asked.list, asked, asked);
  }

  page(list, { strategy, step }, { start, count }) {
    const rows = this.sight(strategy, step).lists[list];
    return { list, start, total: rows.length, rows: rows.slice(start, start + count).map((one) => this.told(one)) };
  }

  // A row of a list: what is always true of a part, and what is true of it at this step.
  told({ row, tokens, section, rendition, state, why }) {
    const { sections, renditions, notes } = this.data;
    const note = notes[renditions[rendition]];
    if (row === null) {
      return { row, kind: "summary", trust: "strategy", tone: "warn", head: note ?? "", tokens, state, section: sections[section] };
    }
    const told = { ...this.data.rows[row], state };
    if (tokens !== undefined) told.tokens = tokens;
    if (note) told.note = note.replace("{no}", told.no);
    if (why) told.why = words(why);
    return told;
  }

  part({ row, start }) {
    const part = this.data.details[row];
    const { text, ...rest } = part;
    return { ...rest, start, held: text.length, text: text.slice(start) };
  }

  find({ words: asked, after }) {
    const wanted = String(asked || "").toLowerCase();
    const hits = wanted ? this.searched().flatMap((text, row) => (text.includes(wanted) ? [row] : [])) : [];
    if (!hits.length) return { row: null, step: null, found: 0 };
    const row = hits.find((one) => one > after) ?? hits[0];
    const [step, , visibleFrom] = this.data.places[row];
    const last = Math.max(this.data.head.steps - 1, 0);
    return { row, step: Math.min(Math.max(step ?? visibleFrom ?? 0, 0), last), found: hits.length, number: hits.indexOf(row) + 1 };
  }

  searched() {
    this.lowered ??= this.data.details.map((part) => `${part.text}\n${part.tool ?? ""}`.toLowerCase());
    return this.lowered;
  }
}

function reasonsOf(rows) {
  const counts = new Map();
  for (const { why } of rows) counts.set(why, (counts.get(why) ?? 0) + 1);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
}
