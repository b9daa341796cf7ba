const paths = {
  search: 'M7 12.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM11 11l3.5 3.5',
  menu: 'M2 4h12M2 8h12M2 12h12',
  up: 'M4 10l4-4 4 4',
  gate: 'M2.5 14V6a5.5 5.5 0 0 1 11 0v8M6.5 14V9M9.5 14V9M1 14h14',
};

/** A decorative icon, hidden from screen readers; a label beside it says the same. */
export const Icon = ({ name }: { name: keyof typeof paths }) => (
  <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
    <path d={paths[name]} />
  </svg>
);
