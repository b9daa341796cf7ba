/** Stands where rows will be, so that nothing moves when they arrive. */
export const Skeleton = ({ rows = 6, label = 'Loading' }: { rows?: number; label?: string }) => (
  <div class="skeleton" role="status" aria-label={label}>
    {Array.from({ length: rows }, (_, at) => (
      <i key={at} />
    ))}
  </div>
);
