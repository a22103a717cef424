// The contrast of each text with what lies behind it (WCAG 2.2, relative luminance).
() => {
  const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
  const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (colour) => {
    const [r, g, b] = parts(colour).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = "h1, h2, p, td, th, dt, dd, li, pre span, .verdict, .dim, caption";
  return [...document.querySelectorAll(texts)].map((e) => {
    const pair = [luminance(getComputedStyle(e).color), luminance(behind(e))].sort((x, y) => y - x);
    return (pair[0] + 0.05) / (pair[1] + 0.05);
  });
};
