// The run at a glance: tokens of each context as columns, above them how each step ended. It is a slider.

const MARKS = { failed: "a check failed", passed: "a check passed", inconclusive: "a check said nothing", error: "a call failed",
  call: "tools were called", answer: "an answer" };

class Timeline {
  constructor({ go, signal }) {
    this.go = go;
    this.steps = 0;
    this.host = element("div", "lkr-timeline");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "slider");
    this.host.setAttribute("aria-label", "Step of the run");
    this.host.setAttribute("aria-valuemin", "0");
    this.columns = element("div", "lkr-columns");
    this.columns.setAttribute("aria-hidden", "true");
    this.cursor = element("div", "lkr-cursor");
    this.host.append(this.columns, this.cursor);
    const move = (event) => {
      if (event.buttons !== 1 && event.type !== "pointerdown") return;
      const box = this.columns.getBoundingClientRect();
      const share = (event.clientX - box.left) / Math.max(box.width, 1);
      this.go(Math.min(Math.max(Math.floor(share * this.steps), 0), Math.max(this.steps - 1, 0)));
    };
    this.host.addEventListener("pointerdown", (event) => {
      this.host.setPointerCapture(event.pointerId);
      move(event);
    }, { signal });
    this.host.addEventListener("pointermove", move, { signal });
  }

  fill(bins, steps) {
    this.steps = steps;
    this.host.setAttribute("aria-valuemax", String(Math.max(steps - 1, 0)));
    const most = Math.max(...bins.map((bin) => bin[2] || 0), 1);
    const dearest = Math.max(...bins.map((bin) => bin[4] || 0), 1e-12);
    this.columns.replaceChildren(...bins.map(([from, to, tokens, , cost, mark]) => {
      const column = element("div", `lkr-column ${mark}`);
      column.title = `step ${to - from > 1 ? `${from}–${to - 1}` : from}: ${compact(tokens)} tokens, ${dollars(cost)}, ${MARKS[mark]}`;
      column.style.flexGrow = String(to - from);
      const bar = element("div", "lkr-bar");
      bar.style.height = `${(100 * (tokens || 0)) / most}%`;
      const price = element("div", "lkr-price");
      price.style.height = `${(100 * (cost || 0)) / dearest}%`;
      const tokensRoom = element("div", "lkr-tokens");
      tokensRoom.append(bar);
      const priceRoom = element("div", "lkr-prices");
      priceRoom.append(price);
      column.append(element("div", "lkr-mark"), tokensRoom, priceRoom);
      return column;
    }));
    const used = new Set(bins.map((bin) => bin[5]));
    return Object.keys(MARKS).filter((mark) => used.has(mark));
  }

  at(step, said) {
    const share = this.steps ? 1 / this.steps : 1;
    this.cursor.style.left = `${100 * step * share}%`;
    this.cursor.style.width = `max(3px, ${100 * share}%)`;
    this.host.setAttribute("aria-valuenow", String(step));
    this.host.setAttribute("aria-valuetext", said);
  }
}
