// One part, whole: its labels, its text a slice at a time, its reference to copy.

class Detail {
  constructor({ ask, signal }) {
    this.ask = ask;
    this.host = element("div", "lkr-detail");
    this.host.setAttribute("role", "region");
    this.host.setAttribute("aria-label", "The chosen part");
    this.labels = element("div", "lkr-detail-head");
    this.text = element("pre", "lkr-body");
    this.text.tabIndex = 0;
    this.reference = element("input", "lkr-reference");
    this.reference.readOnly = true;
    this.reference.setAttribute("aria-label", "Reference of the chosen part");
    this.copied = element("span", "lkr-soft");
    this.copied.setAttribute("role", "status");
    const copy = button("copy reference", "Copy the reference (c)", () => this.copy());
    this.more = button("more", "Show more of the text", () => this.load(this.row, this.shown));
    this.bar = element("div", "lkr-detail-bar");
    this.bar.append(this.reference, copy, this.more, this.copied);
    this.host.append(this.labels, this.text, this.bar);
    this.host.hidden = true;
    void signal;
  }

  async load(row, start = 0) {
    this.row = row;
    const part = await this.ask("part", { row, start });
    if (this.row !== row) return null;
    this.host.hidden = false;
    const place = part.step === null ? "" : `step ${part.step}`;
    this.labels.replaceChildren(chip(part.label), chip(part.trust, part.tone),
      element("span", "lkr-soft", [part.tool, `message ${part.sequence_no}`, place, `${count(part.tokens)} tokens`, part.status && words(part.status.toLowerCase()),
        words(part.visibility.toLowerCase())].filter(Boolean).join(" · ")));
    this.labels.children[1].title = part.hint;
    if (start === 0) this.text.replaceChildren();
    this.text.append(part.text || (part.length ? "" : "No text: its content is not in the ledger, or is no text."));
    this.shown = start + part.text.length;
    const missing = part.length - this.shown;
    const isHere = this.shown < (part.held ?? part.length);
    this.more.hidden = !isHere;
    this.more.textContent = `more (${count(missing)} characters)`;
    this.reference.value = part.reference;
    this.copied.textContent = missing > 0 && !isHere ? `${count(missing)} more characters are in the ledger, not in this page` : "";
    return part.reference;
  }

  async copy() {
    if (this.host.hidden) return;
    try {
      await navigator.clipboard.writeText(this.reference.value);
      this.copied.textContent = "copied";
    } catch {
      this.reference.select(); // a page without the right to write it: the reader presses Ctrl+C
      this.copied.textContent = "selected: press Ctrl+C";
    }
  }
}
