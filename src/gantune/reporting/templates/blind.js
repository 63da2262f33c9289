"use strict";
const pairs = JSON.parse(document.getElementById("pairs").textContent);
const answers = [];
let order = [];
let shown = null;

// The chance of at most k successes in n trials, each of probability p.
function atMost(k, n, p) {
  if (p <= 0) return 1;
  if (p >= 1) return k >= n ? 1 : 0;
  let term = Math.pow(1 - p, n), sum = 0;
  for (let i = 0; i <= k; i += 1) {
    sum += term;
    term *= ((n - i) / (i + 1)) * (p / (1 - p));
  }
  return sum;
}

function solve(tooLow) {
  let low = 0, high = 1;
  for (let i = 0; i < 60; i += 1) {
    const middle = (low + high) / 2;
    if (tooLow(middle)) low = middle; else high = middle;
  }
  return (low + high) / 2;
}

function interval(k, n) {
  const low = k === 0 ? 0 : solve((p) => 1 - atMost(k - 1, n, p) < 0.025);
  const high = k === n ? 1 : solve((p) => atMost(k, n, p) > 0.025);
  return [low, high];
}

function random(n) {
  return crypto.getRandomValues(new Uint32Array(1))[0] % n;
}

function next() {
  if (order.length === 0) {
    order = pairs.map((_, index) => index);
    for (let i = order.length - 1; i > 0; i -= 1) {
      const j = random(i + 1);
      [order[i], order[j]] = [order[j], order[i]];
    }
  }
  const index = order.pop();
  const isLeft = random(2) === 0;
  shown = {pair: index, original: isLeft ? "left" : "right"};
  document.getElementById("left-picture").src = isLeft ? pairs[index].original : pairs[index].optimized;
  document.getElementById("right-picture").src = isLeft ? pairs[index].optimized : pairs[index].original;
  document.getElementById("caption").textContent = `Pair ${answers.length + 1}`;
}

function tell() {
  const n = answers.length, k = answers.filter((answer) => answer.is_right).length;
  if (n === 0) return "No answer yet.";
  const [low, high] = interval(k, n);
  const percent = (value) => `${(100 * value).toFixed(0)} %`;
  const shows = low > 0.5 ? "the difference can be seen"
    : high < 0.5 ? "the optimized pictures are taken for the original"
    : "no difference shown";
  return `${k} of ${n} right: ${percent(k / n)} (${percent(low)} to ${percent(high)}). At n = ${n}: ${shows}.`;
}

function answer(side) {
  answers.push({title: pairs[shown.pair].title, chosen: side, is_right: side === shown.original});
  document.getElementById("result").textContent = tell();
  next();
}

for (const side of ["left", "right"]) document.getElementById(side).addEventListener("click", () => answer(side));
document.getElementById("forget").addEventListener("click", () => {
  answers.length = 0;
  document.getElementById("result").textContent = tell();
  next();
});
document.getElementById("save").addEventListener("click", () => {
  const link = document.createElement("a");
  link.href = "data:application/json," + encodeURIComponent(JSON.stringify({answers, result: tell()}, null, 1));
  link.download = "blind-answers.json";
  link.click();
});
next();
