// Questions to Python: each has an id, and its promise is kept by the answer with that id.

const PATIENCE_MS = 20000;

function makeAsker(model, signal, onSilence) {
  const open = new Map();
  let last = 0;
  const answered = (message) => {
    const waiting = open.get(message?.id);
    if (!waiting) return; // late, or of another view of this widget
    open.delete(message.id);
    clearTimeout(waiting.timer);
    if (message.error) waiting.reject(new Error(message.error));
    else waiting.resolve(message);
  };
  model.on("msg:custom", answered);
  signal.addEventListener("abort", () => {
    model.off("msg:custom", answered);
    for (const waiting of open.values()) clearTimeout(waiting.timer);
    open.clear();
  });
  const own = Math.random().toString(36).slice(2, 8);
  return (kind, asked) =>
    new Promise((resolve, reject) => {
      last += 1;
      const id = `${own}-${last}`;
      const timer = setTimeout(() => onSilence(), PATIENCE_MS);
      open.set(id, { resolve, reject, timer });
      model.send({ ...asked, kind, id });
    });
}
