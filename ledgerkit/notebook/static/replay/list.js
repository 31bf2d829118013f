// A list of any length: only the rows in view are elements, and rows are asked for a page at a time.

const OVERSCAN = 4;

class VirtualList {
  constructor({ label, rowHeight, page, load, fill, pick, signal }) {
    Object.assign(this, { rowHeight, page, load, fill, pick });
    this.pages = new Map();
    this.stale = new Map();
    this.version = 0;
    this.total = 0;
    this.chosen = -1;
    this.id = `lkr-${Math.random().toString(36).slice(2, 9)}`;
    this.host = element("div", "lkr-list");
    this.host.tabIndex = 0;
    this.host.setAttribute("role", "listbox");
    this.host.setAttribute("aria-label", label);
    this.room = element("div", "lkr-room");
    this.host.append(this.room);
    this.top = 0;
    this.host.addEventListener("scroll", () => {
      if (!this.isShown()) return; // the page was taken away, not scrolled
      if (Math.abs(this.host.scrollTop - this.top) > 1) this.brought = undefined; // the reader scrolled
      this.top = this.host.scrollTop;
      this.soon();
    }, { signal, passive: true });
    this.host.addEventListener("click", (event) => {
      const row = event.target.closest("[data-index]");
      if (!row) return;
      const index = Number(row.dataset.index);
      this.choose(index, this.drawnRows.get(index)); // what was seen, if other rows came meanwhile
    }, { signal });
    // Rows that are drawn anew between press and release lose the click: nothing moves under a pressed pointer.
    this.host.addEventListener("pointerdown", (event) => {
      this.pressed = event.button === 0 && Boolean(event.target.closest("[data-index]"));
    }, { signal });
    // A menu or another window may take the release; a page around us may keep it to itself.
    for (const end of ["pointerup", "pointercancel", "contextmenu"]) addEventListener(end, () => this.letGo(), { signal, capture: true });
    // Of the window only: what had the focus in the page loses it when a row is pressed, and would be heard on the way down.
    addEventListener("blur", () => this.letGo(), { signal });
    const seen = new ResizeObserver(() => {
      if (!this.isShown()) return;
      if (this.brought !== undefined) this.bring(this.brought, "nearest");
      this.soon();
    });
    seen.observe(this.host);
    // A notebook takes cells that are out of view out of the page, and with them the place that was scrolled to.
    const back = new IntersectionObserver((entries) => {
      if (!entries.at(-1).isIntersecting) return;
      if (this.host.scrollTop !== this.top) this.host.scrollTop = this.top;
      this.soon();
    });
    back.observe(this.host);
    signal.addEventListener("abort", () => {
      seen.disconnect();
      back.disconnect();
    });
  }

  // Rows are of another step now: what is shown stays until the new rows are there.
  renew(total, first) {
    this.version += 1;
    this.stale = this.pages.size ? this.pages : this.stale;
    this.pages = new Map();
    if (first) this.keep(first);
    if (total !== undefined) this.resize(total);
    this.soon();
  }

  keep(answer) {
    for (let n = 0; n < answer.rows.length || n === 0; n += this.page) {
      const at = Math.floor((answer.start + n) / this.page);
      this.pages.set(at, answer.rows.slice(n, n + this.page));
      if (!answer.rows.length) break;
    }
    if (answer.total !== undefined) this.resize(answer.total);
  }

  resize(total) {
    this.total = total;
    this.room.style.height = `${total * this.rowHeight}px`;
  }

  range() {
    const first = Math.max(Math.floor(this.top / this.rowHeight) - OVERSCAN, 0);
    const shown = Math.ceil((this.host.clientHeight || 300) / this.rowHeight) + 2 * OVERSCAN;
    return [first, Math.min(first + shown, this.total)];
  }

  isShown() {
    return this.host.clientHeight > 0 && this.host.checkVisibility({ contentVisibilityAuto: true });
  }

  // The page that is in view: what is asked for along with a step.
  view() {
    const start = Math.floor(this.range()[0] / this.page) * this.page;
    return { start, count: this.page };
  }

  soon() {
    if (this.waiting || this.pressed) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      if (!this.pressed) this.draw();
    });
  }

  letGo() {
    if (!this.pressed) return;
    this.pressed = false;
    if (this.brought !== undefined) this.bring(this.brought, "nearest"); // to where a step called meanwhile
    this.soon(); // the click comes before the next frame
  }

  row(index) {
    const at = Math.floor(index / this.page);
    return (this.pages.get(at) || this.stale.get(at))?.[index % this.page];
  }

  draw() {
    const [first, last] = this.range();
    const rows = [];
    this.drawnRows = new Map();
    for (let index = first; index < last; index += 1) rows.push(this.drawn(index));
    this.room.replaceChildren(...rows);
    const active = this.chosen >= first && this.chosen < last ? `${this.id}-${this.chosen}` : "";
    if (active) this.host.setAttribute("aria-activedescendant", active);
    else this.host.removeAttribute("aria-activedescendant");
    this.ask(first, last);
  }

  drawn(index) {
    const row = element("div", "lkr-row");
    row.id = `${this.id}-${index}`;
    row.dataset.index = String(index);
    row.style.transform = `translateY(${index * this.rowHeight}px)`;
    row.setAttribute("role", "option");
    row.setAttribute("aria-setsize", String(this.total));
    row.setAttribute("aria-posinset", String(index + 1));
    row.setAttribute("aria-selected", String(index === this.chosen));
    const data = this.row(index);
    this.drawnRows.set(index, data);
    if (data) this.fill(row, data, index);
    else row.classList.add("lkr-loading");
    return row;
  }

  ask(first, last) {
    for (let at = Math.floor(first / this.page); at * this.page < last; at += 1) {
      if (this.pages.has(at)) continue;
      const version = this.version;
      this.pages.set(at, this.stale.get(at)); // asked for; undefined until it comes
      this.load(at * this.page, this.page).then(
        (answer) => {
          if (version !== this.version) return;
          this.pages.set(at, answer.rows);
          if (answer.total !== undefined) this.resize(answer.total);
          this.soon();
        },
        () => { if (version === this.version) this.pages.delete(at); },
      );
    }
  }

  choose(index, row = this.row(index)) {
    if (index < 0 || index >= this.total) return;
    this.mark(index);
    this.pick(index, row);
  }

  mark(index) {
    this.chosen = index;
    this.soon();
  }

  bring(index, where) {
    const top = index * this.rowHeight;
    this.brought = index;
    const height = this.host.clientHeight || 300;
    if (this.pressed) return;
    if (where === "nearest" && top >= this.top && top + this.rowHeight <= this.top + height) return;
    this.top = Math.max(top - Math.round(height / 3), 0);
    this.host.scrollTop = this.top;
    this.soon();
  }
}
