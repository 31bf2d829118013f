// The widget: a timeline, the steps, the history beside the context of the step, and the chosen part.

const HELP = "j k ← → step · PageUp PageDown ten steps · Home End · f next failure · / search, n next · s next strategy · c copy reference";

class ReplayView {
  constructor(model, el, signal) {
    Object.assign(this, { model, el, signal });
    this.ask = makeAsker(model, signal, () => this.say("Python does not answer. Is the kernel running?"));
    model.on("change:head", (this.onHead = () => this.open()));
    model.on("change:step", (this.onStep = () => this.go(this.model.get("step"))));
    model.on("change:strategy", (this.onStrategy = () => this.switchTo(this.model.get("strategy"))));
    signal.addEventListener("abort", () => {
      model.off("change:head", this.onHead);
      model.off("change:step", this.onStep);
      model.off("change:strategy", this.onStrategy);
    });
    this.build();
  }

  build() {
    const { signal } = this;
    const root = (this.root = element("div", "lk lk-replay"));
    root.tabIndex = -1;
    root.dataset.lmSuppressShortcuts = "true"; // keys are ours here, not JupyterLab's
    root.setAttribute("role", "group");
    root.addEventListener("keydown", (event) => this.key(event), { signal });
    this.title = element("div", "lkr-title");
    this.about = element("div", "lkr-soft");
    this.timeline = new Timeline({ go: (step) => this.go(step), signal });
    this.marks = element("div", "lkr-marks lkr-soft");
    this.figures = element("div", "lkr-figures");
    this.status = element("div", "lkr-status");
    this.status.setAttribute("role", "status");
    this.status.setAttribute("aria-live", "polite");
    this.detail = new Detail({ ask: this.ask, signal });
    const page = this.model.get("head").page;
    const part = { rowHeight: 46, page, fill: fillPart, signal };
    this.steps = new VirtualList({ label: "Steps", rowHeight: 28, page, fill: fillStep, signal, pick: (index) => this.go(index),
      load: (start, n) => this.ask("steps", { strategy: this.strategy, start, count: n }) });
    this.history = new VirtualList({ ...part, label: "History: every part of the run", pick: (_, row) => this.choose(row),
      load: (start, n) => this.load("history", start, n) });
    this.list = "context";
    this.context = new VirtualList({ ...part, label: "Context of the step", pick: (_, row) => this.choose(row),
      load: (start, n) => this.load(this.list, start, n) });
    const body = element("div", "lkr-panes");
    body.append(this.pane("Steps", this.steps.host, "lkr-steps"), this.pane("History", this.history.host, "lkr-history"),
      this.pane("Context", this.context.host, "lkr-context", this.tabs()));
    root.append(this.header(), this.timeline.host, this.marks, this.figures, body, this.status, this.detail.host);
    this.el.append(root);
    this.open();
  }

  header() {
    const { signal } = this;
    const head = element("div", "lkr-head");
    const names = element("div", "lkr-names");
    names.append(this.title, this.about);
    this.select = element("select", "lkr-select");
    this.select.setAttribute("aria-label", "Strategy");
    this.select.addEventListener("change", () => this.switchTo(this.select.selectedIndex), { signal });
    this.search = element("input", "lkr-search");
    this.search.type = "search";
    this.search.placeholder = "search";
    this.search.setAttribute("aria-label", "Search the run");
    this.search.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.find();
    }, { signal });
    this.search.addEventListener("input", () => { this.hit = -1; }, { signal });
    const controls = element("div", "lkr-controls");
    controls.append(button("‹", "Step before (k)", () => this.go(this.step - 1)), button("›", "Next step (j)", () => this.go(this.step + 1)),
      this.select, this.search, button("✗›", "Next failure (f)", () => this.nextFailure()),
      button("?", "Keys", () => this.say(HELP)));
    head.append(names, controls);
    return head;
  }

  pane(title, host, className, extra) {
    const pane = element("section", `lkr-pane ${className}`);
    const head = element("div", "lkr-pane-head");
    head.append(element("span", "lkr-pane-title", title));
    if (extra) head.append(extra);
    pane.append(head, host);
    return pane;
  }

  tabs() {
    const row = element("div", "lkr-tabs");
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", "What of the context is listed");
    this.tab = {};
    for (const [name, words] of [["context", "in"], ["moved", "moved"], ["out", "out, and why"]]) {
      const one = button(words, `List what is ${words}`, () => this.showList(name));
      this.tab[name] = one;
      row.append(one);
    }
    return row;
  }

  // A run: the first one, or another that Python opened in this widget.
  async open() {
    const head = this.model.get("head");
    Object.assign(this, { strategy: this.model.get("strategy"), step: -1, hit: -1, count: head.steps, looking: false });
    this.root.removeAttribute("data-ready");
    this.title.textContent = head.title;
    this.about.textContent = [head.about, head.models, head.started, `${count(head.steps)} steps`, head.cost].filter(Boolean).join(" · ");
    this.root.setAttribute("aria-label", `Replay: ${head.title}`);
    this.select.replaceChildren(...head.strategies.map((label) => element("option", "", label)));
    this.select.selectedIndex = this.strategy;
    this.steps.renew(head.steps);
    this.history.renew(head.parts);
    this.detail.host.hidden = true;
    await Promise.all([this.drawTimeline(), this.go(this.model.get("step"))]);
    this.root.dataset.ready = "1";
  }

  async drawTimeline() {
    const strategy = this.strategy;
    const answer = await this.ask("timeline", { strategy });
    if (strategy !== this.strategy) return;
    const used = this.timeline.fill(answer.bins, this.count);
    this.dearest = answer.width > 1 ? null : Math.max(...answer.bins.map((bin) => bin[4] || 0), 0);
    this.bins = answer.bins;
    this.marks.replaceChildren(...used.map((mark) => {
      const entry = element("span", "", MARKS[mark]);
      entry.prepend(element("i", `lkr-swatch ${mark}`));
      return entry;
    }));
    if (this.look) this.drawFigures();
  }

  load(list, start, n) {
    return this.ask("rows", { list, start, count: n, strategy: this.strategy, step: this.step });
  }

  go(wanted) {
    const step = Math.min(Math.max(Math.trunc(wanted) || 0, 0), Math.max(this.count - 1, 0));
    if (step === this.step && this.look) return this.running;
    this.step = step;
    if (this.model.get("step") !== step) {
      this.model.set("step", step);
      this.model.save_changes();
    }
    this.steps.mark(step);
    this.steps.bring(step, "nearest");
    this.timeline.at(step, `step ${step} of ${this.count}`);
    return this.refresh();
  }

  async switchTo(number) {
    if (number === this.strategy || number < 0) return;
    this.strategy = number;
    this.select.selectedIndex = number;
    if (this.model.get("strategy") !== number) {
      this.model.set("strategy", number);
      this.model.save_changes();
    }
    this.steps.renew(this.count);
    await Promise.all([this.drawTimeline(), this.refresh()]);
  }

  // One question at a time: while a key is held, steps that were only passed are never asked for.
  refresh() {
    if (!this.looking) this.running = this.lookAll();
    return this.running;
  }

  async lookAll() {
    this.looking = true;
    try {
      for (let done = false; !done;) {
        const { step, strategy } = this;
        const answer = await this.ask("look", { step, strategy, history: this.history.view(), context: this.context.view() });
        done = step === this.step && strategy === this.strategy;
        if (done) this.looked(answer);
      }
    } catch (error) {
      this.say(error.message);
    } finally {
      this.looking = false;
    }
  }

  looked(look) {
    const { states } = look;
    this.look = look;
    this.drawFigures();
    this.tab.context.textContent = `in ${count(states.in + states.new + states.changed)}`;
    this.tab.moved.textContent = `moved +${states.new} ~${states.changed} −${states.left}`;
    this.tab.out.textContent = `out ${count(states.out + states.left)}`;
    this.tab.out.title = look.reasons.map(([reason, n]) => `${n} ${words(reason)}`).join(", ") || "nothing is out";
    this.history.renew(look.lists.history.total, look.lists.history);
    if (this.list === "context") this.context.renew(look.lists.context.total, look.lists.context);
    else this.context.renew(this.length(this.list));
    this.markTabs();
    if (look.at !== null) this.history.bring(look.at, "nearest");
    const verdict = look.call?.verdict ? `, check ${look.call.verdict}` : "";
    const did = look.call?.tools.length ? look.call.tools.join(", ") : "answer";
    const said = this.count ? `Step ${look.step} of ${this.count}: ${did}${verdict}, ${count(look.tokens)} tokens in context` : "This run has no model call.";
    this.timeline.at(look.step, said);
    this.say([said, look.time !== UNKNOWN && look.time, look.withheld && `${look.withheld} parts withheld from this audience`].filter(Boolean).join(" · "));
    this.root.dataset.step = String(look.step);
    this.root.dataset.strategy = String(look.strategy);
  }

  drawFigures() {
    fillFigures(this.figures, this.look, Math.max(this.dearest || 0, this.look.call?.cost || 0));
  }

  length(list) {
    const { states } = this.look;
    return list === "moved" ? states.new + states.changed + states.left : states.out + states.left;
  }

  showList(name) {
    this.list = name;
    this.context.stale.clear();
    this.context.pages.clear();
    this.context.chosen = -1;
    this.context.top = 0;
    this.context.host.scrollTop = 0;
    this.context.renew(name === "context" ? this.look.lists.context.total : this.length(name));
    this.markTabs();
  }

  markTabs() {
    for (const [name, tab] of Object.entries(this.tab)) tab.setAttribute("aria-pressed", String(name === this.list));
  }

  async choose(row) {
    if (!row || row.row === null || row.row === undefined) return;
    this.hit = row.row;
    this.history.mark(row.row);
    try {
      const reference = await this.detail.load(row.row);
      if (reference) {
        this.model.set("selected", reference);
        this.model.save_changes();
      }
    } catch (error) {
      this.say(error.message);
    }
  }

  async find() {
    const asked = this.search.value;
    const found = await this.ask("find", { words: asked, after: this.hit });
    if (asked !== this.search.value) return;
    if (found.row === null) {
      this.say(asked ? `Nothing says “${asked}”.` : HELP);
      return;
    }
    await this.go(found.step);
    this.history.bring(found.row, "nearest");
    await this.choose({ row: found.row });
    this.say(`${found.number} of ${count(found.found)}: step ${found.step}`);
  }

  nextFailure() {
    const bad = (bin) => bin[5] === "failed" || bin[5] === "error";
    const next = this.bins?.find((bin) => bin[0] > this.step && bad(bin));
    if (next) this.go(next[0]);
    else this.say("No failure further on.");
  }

  say(said) {
    this.status.textContent = said;
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const typing = event.target.closest("input, select, textarea");
    if (event.key === "Escape" && typing) {
      this.timeline.host.focus();
      event.preventDefault(); // or the words that were searched for are gone
      event.stopPropagation();
      return;
    }
    if (typing) {
      event.stopPropagation(); // letters belong to the field
      return;
    }
    if (this.inList(event) || this.act(event.key)) event.preventDefault();
    event.stopPropagation();
  }

  // In history and context, arrows go from part to part.
  inList(event) {
    const list = [this.history, this.context].find((one) => one.host === event.target);
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!list || !by) return false;
    const next = Math.min(Math.max(list.chosen + by, 0), list.total - 1);
    list.choose(next);
    list.bring(next, "nearest");
    return true;
  }

  act(key) {
    const { step } = this;
    const acts = {
      j: () => this.go(step + 1), ArrowDown: () => this.go(step + 1), ArrowRight: () => this.go(step + 1),
      k: () => this.go(step - 1), ArrowUp: () => this.go(step - 1), ArrowLeft: () => this.go(step - 1),
      PageDown: () => this.go(step + 10), PageUp: () => this.go(step - 10), Home: () => this.go(0), End: () => this.go(this.count - 1),
      "/": () => this.search.focus(), n: () => this.find(), f: () => this.nextFailure(), c: () => this.detail.copy(),
      s: () => this.switchTo((this.strategy + 1) % this.select.options.length), "?": () => this.say(HELP),
    };
    if (!Object.hasOwn(acts, key)) return false;
    acts[key]();
    return true;
  }
}

function render({ model, el }) {
  const ending = new AbortController();
  if (model.get("rows")) el.append(rowTable(model, ending.signal));
  new ReplayView(model, el, ending.signal);
  return () => ending.abort();
}

export default { render };
