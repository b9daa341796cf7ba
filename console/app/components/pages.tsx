import { Button } from './button.tsx';

/** Pagination, if a list has several pages. */
export const Pages = ({ page, of, onPage }: { page: number; of: number; onPage(page: number): void }) =>
  of < 2 ? null : (
    <nav class="pages" aria-label="Pages">
      <Button title="Back" isDisabled={page === 1} onClick={() => onPage(page - 1)} />
      <span>
        Page {page} of {of}
      </span>
      <Button title="More" isDisabled={page >= of} onClick={() => onPage(page + 1)} />
    </nav>
  );
