// Elements and words. One rule: text becomes text, through textContent and nothing else.

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined && text !== null) made.textContent = text;
  return made;
}

function button(words, hint, act) {
  const made = element("button", "lkr-button", words);
  made.type = "button";
  made.title = hint;
  made.setAttribute("aria-label", hint);
  made.addEventListener("click", act);
  return made;
}

function chip(words, tone) {
  return element("span", `lk-chip ${tone || ""}`.trim(), words);
}

const UNKNOWN = "–";
const VERDICTS = { failed: ["✗", "bad"], passed: ["✓", "good"], inconclusive: ["?", "warn"] };
const STATES = {
  new: ["+", "new in this context"],
  changed: ["~", "shown in another form than in the step before"],
  left: ["−", "left since the step before"],
  out: ["○", "not in this context"],
  later: ["·", "comes later"],
  in: ["", "in this context"],
};

function count(number) {
  return number === null || number === undefined ? UNKNOWN : number.toLocaleString("en-US");
}

function compact(number) {
  if (number === null || number === undefined) return UNKNOWN;
  if (number < 10000) return count(number);
  return number < 999950 ? `${(number / 1000).toFixed(1)} k` : `${(number / 1e6).toFixed(1)} M`;
}

function dollars(amount) {
  if (amount === null || amount === undefined) return UNKNOWN;
  if (amount === 0) return "$0";
  if (amount < 0.0001) return "<$0.0001";
  return amount >= 1 ? `$${amount.toFixed(2)}` : `$${amount.toFixed(4)}`;
}

function words(name) {
  return String(name).replaceAll("_", " ");
}
