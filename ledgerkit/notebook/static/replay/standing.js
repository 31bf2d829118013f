// A page that stands alone: the run came with it, and its place is in the address, so that a link leads to a step.

class StandingModel {
  constructor(data) {
    this.answers = new Answers(data);
    this.heard = {};
    this.state = { step: 0, strategy: 0, selected: "", head: data.head, ...this.place() };
    addEventListener("hashchange", () => {
      for (const [name, value] of Object.entries(this.place())) this.set(name, value);
    });
  }

  place() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const whole = (name) => Math.max(Math.trunc(Number(asked.get(name))) || 0, 0);
    const last = this.answers.data.strategies.length - 1;
    return { step: whole("step"), strategy: Math.min(whole("strategy"), last) };
  }

  get(name) { return this.state[name]; }

  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    this.tell(`change:${name}`);
  }

  save_changes() {
    const { step, strategy } = this.state;
    history.replaceState(null, "", `#step=${step}${strategy ? `&strategy=${strategy}` : ""}`);
  }

  on(name, act) { (this.heard[name] ??= []).push(act); }

  off(name, act) { this.heard[name] = (this.heard[name] ?? []).filter((one) => one !== act); }

  tell(name, ...what) { for (const act of this.heard[name] ?? []) act(...what); }

  async send(message) { this.tell("msg:custom", this.answers.answer(message)); }
}

const standing = new StandingModel(JSON.parse(document.getElementById("lkr-run").textContent));
render({ model: standing, el: document.getElementById("lkr-here") });
