// What a row of each list looks like, and the figures of a step.

function fillStep(row, data) {
  const verdict = VERDICTS[data.verdict];
  const bad = !verdict && (data.failed || data.errors);
  const [glyph, tone] = verdict || (bad ? ["!", "warn"] : ["", ""]);
  const mark = element("span", `lkr-glyph ${tone}`, glyph);
  const told = data.verdict ? `check ${data.verdict}` : bad ? "a call failed" : "";
  if (told) mark.setAttribute("aria-label", told);
  mark.title = told;
  const did = element("span", "lkr-did", data.tools.length ? data.tools.join(", ") : "answer");
  const size = element("span", "lkr-number", compact(data.tokens));
  size.title = `${count(data.tokens)} tokens in this context, ${dollars(data.cost)}`;
  row.append(element("span", "lkr-no", data.step), mark, did, size);
}

function fillPart(row, data) {
  row.classList.add(`is-${data.state}`);
  if (data.tone) row.classList.add(data.tone);
  const [glyph, meaning] = STATES[data.state] || ["", ""];
  const state = element("span", "lkr-state", glyph);
  state.title = data.why ? `${meaning}: ${data.why}` : meaning;
  state.setAttribute("aria-label", state.title);
  const top = element("span", "lkr-top");
  const name = data.tool ? `${data.kind} ${data.tool}` : data.kind;
  const kind = element("span", "lkr-kind", name);
  if (data.bad) kind.append(" ", element("span", "lkr-bad", "failed"));
  top.append(element("span", "lkr-no", data.no ?? ""), kind, element("span", `lkr-trust ${data.tone || ""}`, data.trust));
  const size = element("span", "lkr-number", count(data.tokens));
  size.title = "tokens";
  top.append(size);
  const under = data.why ? `${data.why}: ` : data.note ? `${data.note}: ` : "";
  const head = element("span", "lkr-text");
  if (under) head.append(element("em", "", under));
  head.append(data.head || "");
  row.append(state, top, head);
}

// Two bars: what the context consists of, and what was charged for the recorded call.
function fillFigures(host, look, dearest) {
  const parts = look.sections.map(([name, tokens]) => [words(name), tokens]);
  const call = look.call;
  const figures = [bar("context", `${count(look.tokens)} tokens`, parts)];
  if (call && call.input !== null) {
    const cached = call.cached || 0;
    figures.push(bar("recorded input", `${count(call.input)} tokens, ${count(call.output)} out`, [["from a cache", cached], ["not from a cache", call.input - cached]]));
  }
  if (call && call.cost !== null) {
    const unknown = call.unpriced ? `, ${count(call.unpriced)} calls unpriced` : "";
    figures.push(bar("cost", `${dollars(call.cost)} of ${dollars(call.spent)} so far${unknown}`, [["this step", call.cost], ["up to the dearest", dearest - call.cost]], true));
  }
  host.replaceChildren(...figures);
}

function bar(name, said, pieces, isMoney) {
  const figure = element("div", "lkr-figure");
  const head = element("div", "lkr-figure-head");
  head.append(element("span", "lkr-figure-name", name), element("span", "lkr-figure-said", said));
  const line = element("div", "lkr-line");
  line.setAttribute("role", "img");
  const shown = pieces.filter(([, amount]) => amount > 0);
  const what = (label, amount) => `${label} ${isMoney ? dollars(amount) : count(amount)}`;
  line.setAttribute("aria-label", `${name}: ${shown.map(([label, amount]) => what(label, amount)).join(", ") || "nothing"}`);
  const whole = shown.reduce((sum, [, amount]) => sum + amount, 0);
  shown.forEach(([label, amount], number) => {
    const piece = element("span", `lkr-piece p${number % 7}${isMoney && number ? " rest" : ""}`);
    piece.style.width = `${(100 * amount) / whole}%`;
    piece.title = what(label, amount);
    line.append(piece);
  });
  figure.append(head, line);
  if (!isMoney) {
    const legend = element("div", "lkr-legend");
    shown.forEach(([label, amount], number) => {
      const entry = element("span", "", `${label} ${compact(amount)}`);
      entry.prepend(element("i", `lkr-swatch p${number % 7}`));
      legend.append(entry);
    });
    figure.append(legend);
  }
  return figure;
}
