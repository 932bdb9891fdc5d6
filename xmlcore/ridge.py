"""Ridge regression for every λ from one factorisation: scores, weights, votes and leave-out scores.

The objective is ‖XW − Y‖² + λ‖W‖². With D training instances and N features:

    primal, N ≤ D:  XᵀX = V diag(σ) Vᵀ,   Q = Vᵀ(XᵀY),   P = X_new V
    dual,   D < N:  XXᵀ = U diag(σ) Uᵀ,   Q = UᵀY,       P = X_new Xᵀ U
    scores(λ) = P diag(1 / (σ + λ)) Q

The factorisation depends neither on λ nor on the propensities, which only rescale columns of the scores.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy import sparse

from xmlcore import eigen, leaveout, linalg, products
from xmlcore.checks import DataError, as_array, check_reg_lambda
from xmlcore.inputs import Rows, as_part, as_projection, check_features, check_projection, check_training
from xmlcore.matrices import Block, Features, n_columns, n_rows, take_rows
from xmlcore.memory import as_memory_budget
from xmlcore.progress import Progress, unheard

_ROW_AS_DENSE = 20  # as products.SCATTERED_AS_DENSE, where a sparse row meets whole rows of W: these lie in one piece


@dataclass(frozen=True, eq=False)
class RidgeFactorization:
    """The eigendecomposition of a Gram matrix of size r = min(D, N), and what scores need beside it.

    Attributes:
        form: "primal" (XᵀX was decomposed) or "dual" (XXᵀ was).
        precision: "float64" or "float32", in which the Gram matrix, summed in float64, was decomposed.
        eigenvalues: σ, shape (r',), float64, ascending, all positive; null directions are left out.
        eigenvectors: V (N×r') or U (D×r'), float32.
        leading: the last k vectors, whose eigenvalues stand out, in float64, (r, k); see `eigen.eigenpairs`.
        null: the null directions of the dual, shape (D, D − r'), float32, for held-out scores; None in the primal,
            and where a factorisation was kept without them.
        Q: Vᵀ(XᵀY) or UᵀY, shape (r', L), float32; None where it does not fit the memory budget, or where the dual
            scores cost less without it.
        X_train, Y_train: the training data, features in blocks and labels in CSR.
        memory_budget: bytes that a temporary array may take.
        seconds: what the parts of the fit took, by name.
    """

    form: str
    precision: str
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray
    leading: np.ndarray
    null: np.ndarray | None
    Q: np.ndarray | None
    X_train: tuple[Block, ...]
    Y_train: sparse.csr_array
    memory_budget: int
    seconds: Mapping[str, float]

    @classmethod
    def fit(
        cls,
        X: Features,
        Y: sparse.csr_array,
        *,
        form: str = "auto",
        memory_budget: int | None = None,
        progress: Progress = unheard,
    ) -> RidgeFactorization:
        """Factorise X (D×N) once for every λ, A and B; Y (D×L) enters only into Q.

        `form` "auto" takes the smaller Gram matrix; a forced "primal" with D < N is not for held-out scores at small λ,
        which may lose 6e-8 σ_max/λ there (see `leaveout`). `memory_budget` bounds Q and temporary arrays, in bytes; a
        quarter of the free memory by default. `progress` is called with a stage's name and a fraction, or None within
        a library call that reports nothing.

        Raises DataError for shapes that do not fit each other, values that are not finite, X without a value other
        than zero or with values beyond what can be squared and summed, and sizes beyond what can be decomposed.
        """
        X, Y = check_training(X, Y)
        if form not in ("auto", "primal", "dual"):
            raise DataError(f'form is {form!r}; expected "auto", "primal" or "dual"')
        if form == "auto":
            form = "primal" if n_columns(X) <= n_rows(X) else "dual"
        size = n_columns(X) if form == "primal" else n_rows(X)
        if size > eigen.LARGEST_SIZE:
            raise DataError(
                f"X needs a matrix of size {size:,} factorised; at most {eigen.LARGEST_SIZE:,} is possible. "
                "Reduce the features by SVD or random projection, or take fewer instances"
            )
        budget = as_memory_budget(memory_budget)

        progress("Gram matrix", None)
        started = time.perf_counter()
        dtype = eigen.gram_dtype(size)
        linalg.check_scale(X, dtype)
        K = linalg.gram(X, of_rows=form == "dual", dtype=np.float64)
        after_gram = time.perf_counter()
        progress("eigendecomposition", None)
        K, lowered = eigen.prepared(K)
        pairs = eigen.eigenpairs(K, lowered, partial(linalg.gram_times, X, of_rows=form == "dual"))
        del K
        after_eigh = time.perf_counter()
        return cls(
            form=form,
            precision=np.dtype(dtype).name,
            eigenvalues=pairs.values,
            eigenvectors=pairs.vectors,
            leading=pairs.leading,
            null=pairs.null if form == "dual" else None,
            Q=None,
            X_train=X,
            Y_train=Y,
            memory_budget=budget,
            seconds={"gram": after_gram - started, "eigh": after_eigh - after_gram},
        )._with_Q(progress)

    def _with_Q(self, progress: Progress) -> RidgeFactorization:
        """The same with Q, made in blocks of labels, where that is worth its memory."""
        if not self._wants_Q():
            return self
        progress("label coefficients", 0.0)
        Q = np.empty((self.eigenvalues.size, self.n_labels), np.float32)
        for labels in self.label_blocks(8 * (self.size + self.eigenvalues.size)):
            Q[:, labels] = self._label_coefficients(labels)
            progress("label coefficients", labels.stop / self.n_labels)
        return replace(self, Q=Q)

    @property
    def n_train(self) -> int:
        """D, the number of training instances."""
        return self.Y_train.shape[0]

    @property
    def n_features(self) -> int:
        """N, the number of features."""
        return n_columns(self.X_train)

    @property
    def n_labels(self) -> int:
        """L, the number of labels."""
        return self.Y_train.shape[1]

    @property
    def size(self) -> int:
        """r, the size of the Gram matrix."""
        return self.eigenvectors.shape[0]

    @cached_property
    def _labels_by_column(self) -> sparse.csc_array:
        return self.Y_train.tocsc()

    @cached_property
    def _overlap(self) -> np.ndarray:
        """What rounding to float32 left of the leading directions in the other eigenvectors, (k, r' − k), float64.

        Some 1e-8, through which comes in what X has in the leading directions: 1e4 times the rest where its columns
        are nearly constant, as years are.
        """
        rest = self.eigenvalues.size - self.leading.shape[1]
        return products.product(self.eigenvectors[:, :rest].T, self.leading, np.float64).T

    def _combined(self, coefficients: np.ndarray) -> np.ndarray:
        """V c, or U c, for c of shape (r', k): (r, k), float64, with nothing of a leading direction but its own."""
        found, overlap = products.product(self.eigenvectors, coefficients, np.float64), self._overlap
        if overlap.size:
            found -= self.leading @ (overlap @ coefficients[: overlap.shape[1]])
        return found

    def _wants_Q(self) -> bool:
        """Whether scores are cheaper by a stored Q, and Q fits the memory budget.

        For each evaluated row and eigenpair P'Q costs L, (P'Uᵀ)Y costs D and its sparse part, nnz(Y)/r' entries of
        which each counts for `products.SCATTERED_AS_DENSE`.
        """
        kept = self.eigenvalues.size
        by_votes = self.n_train + products.SCATTERED_AS_DENSE * self.Y_train.nnz / kept
        cheaper = self.form == "primal" or self.n_labels <= by_votes
        return cheaper and 4 * kept * self.n_labels <= self.memory_budget

    def label_blocks(self, bytes_each: int) -> list[slice]:
        """Slices of labels such that `bytes_each` for every label of a block stays within the memory budget."""
        width = max(1, min(self.n_labels, self.memory_budget // max(1, bytes_each)))
        return list(products.chunks(self.n_labels, width))

    def _label_coefficients(self, labels: Rows) -> np.ndarray:
        """Q[:, labels], computed, in float32 from sums in float64."""
        if self.form == "dual":
            return products.times_sparse(self.eigenvectors.T, self._labels_by_column[:, labels])
        right = products.transposed_times_sparse(self.X_train, self.Y_train[:, labels])
        overlap, leading = self._overlap, self.leading.T @ right
        Q = products.product(self.eigenvectors.T, right)
        Q[: overlap.shape[1]] -= overlap.T @ leading
        Q[overlap.shape[1] :] = leading
        return Q

    @np.errstate(over="ignore", invalid="ignore")  # refused below, by name
    def project(self, X_new: Features) -> np.ndarray:
        """P, shape (rows, r'), float32: what scores need of new rows, whatever λ is.

        In the dual P grows with σ, and is float64 where σ is so large or small that float32 could not hold it.

        Raises DataError where X_new has other blocks of features than X_train, or values not finite or too large.
        """
        X_new = self.as_features(X_new)
        if self.form == "primal":
            P = products.multiply(X_new, self.eigenvectors)
            overlap, leading = self._overlap, products.multiply(X_new, self.leading, np.float64)
            for rows in products.chunks(P.shape[0], self._rows_within(8 * P.shape[1])) if overlap.size else ():
                P[rows, : overlap.shape[1]] -= leading[rows] @ overlap
                P[rows, overlap.shape[1] :] = leading[rows]
            return as_projection(P)
        dtype = np.float32 if linalg.is_ordinary(self.eigenvalues[-1]) else np.float64
        P = np.empty((n_rows(X_new), self.eigenvalues.size), dtype)
        # In float64: K_new, what is left of it, its product; as much again for a piece of V, which is widened too.
        for rows in products.chunks(P.shape[0], self._rows_within(32 * self.n_train)):
            K_new = linalg.cross_gram(take_rows(X_new, rows), self.X_train, np.float64)
            P[rows] = products.product_with_leading(K_new, self.eigenvectors, self.leading, self.precision)
        return as_projection(P)

    def as_features(self, X_new: Features, name: str = "X_new") -> tuple[Block, ...]:
        """X_new as blocks, checked to be those of X_train. Raises DataError otherwise, naming the widths."""
        return check_features(X_new, self.X_train, name)

    def _rows_within(self, bytes_each: int) -> int:
        return max(1, min(4_096, self.memory_budget // max(1, bytes_each)))

    def scores(
        self, P: np.ndarray, reg_lambda: float, *, rows: Rows = slice(None), labels: Rows = slice(None)
    ) -> np.ndarray:
        """Scores P diag(1/(σ+λ)) Q of projected rows, shape (rows, labels), float32.

        `P` comes from `project`; `rows` and `labels`, slices or indices, choose a part. The order of multiplication
        follows the shapes: by Q where it is stored, else in the dual as (P'Uᵀ)Y, in the primal as (P'Vᵀ)(XᵀY) in blocks
        of labels. Where float32 could not hold the scores (at a λ of 1e46, say) they are float64.

        Raises DataError for a λ that is not above 0, a P of another factorisation, and unknown rows or labels.
        """
        shrink = 1 / (self.eigenvalues + check_reg_lambda(reg_lambda))
        P = check_projection(P, shrink.size)
        return self.weighted_scores(
            P[as_part(rows, P.shape[0], "rows")], shrink, as_part(labels, self.n_labels, "labels")
        )

    def scores_of(self, X_new: Features, P: np.ndarray, reg_lambda: float) -> np.ndarray:
        """`scores` of all rows of X_new, whose projection is P: by way of W where that takes fewer operations.

        So it does in the primal for more rows of one sparse block than there are features, X_new V diag(1/(σ+λ)) Q from
        the right: W is then smaller than the scores, and must fit the memory budget. `weights` says what that rounds.

        Raises DataError as `scores` does, and for an X_new of other features or rows.
        """
        blocks = self.as_features(X_new)
        shrink = 1 / (self.eigenvalues + check_reg_lambda(reg_lambda))
        if (rows := n_rows(blocks)) != check_projection(P, shrink.size).shape[0]:
            raise DataError(f"X_new has {rows} rows and P {P.shape[0]}; expected the same number")
        if self.form == "primal" and self.Q is not None and len(blocks) == 1 and sparse.issparse(blocks[0]):
            by_rows = blocks[0].nnz * _ROW_AS_DENSE / shrink.size
            ordinary = linalg.is_ordinary(self.eigenvalues[-1], shrink.min(), shrink.max())
            fits = 4 * self.size * self.n_labels <= self.memory_budget
            if ordinary and fits and self.size + by_rows < rows:
                return products.multiply(blocks, self.weights(reg_lambda))
        return self.scores(P, reg_lambda)

    def weighted_scores(self, P: np.ndarray, weights: np.ndarray, labels: Rows = slice(None)) -> np.ndarray:
        """P diag(weights) Q for weights of shape (r',), float64, at any scale of them, σ and P: see `scores`."""
        if P.dtype == np.float32 and linalg.is_ordinary(self.eigenvalues[-1], weights.min(), weights.max()):
            return self._times_Q(P, weights, labels)
        return linalg.at_any_scale(
            P * weights, lambda A: self._times_Q(A.astype(np.float32), np.ones_like(weights), labels)
        )

    def _times_Q(self, P: np.ndarray, weights: np.ndarray, labels: Rows) -> np.ndarray:
        if self.Q is not None:
            Q = self.Q[:, labels]
            weights = weights.astype(np.float32)
            # Scaling costs a pass over memory: over the smaller factor.
            return P @ (weights[:, None] * Q) if Q.shape[1] < P.shape[0] else (P * weights) @ Q
        if self.form == "dual":
            votes = (P * weights.astype(np.float32)) @ self.eigenvectors.T
            return products.times_sparse(votes, self._labels_by_column[:, labels])
        back = self._combined((P * weights).T).T
        Y = self.Y_train[:, labels]
        out = np.empty((P.shape[0], Y.shape[1]), np.float32)
        # Half of the budget for XᵀY and its product, both in float64; the other half is for the rows.
        for part in products.chunks(Y.shape[1], self.memory_budget // (32 * max(self.size, P.shape[0]))):
            out[:, part] = back @ products.transposed_times_sparse(self.X_train, Y[:, part])
        return out

    def weights(self, reg_lambda: float, *, labels: Rows = slice(None)) -> np.ndarray:
        """W(λ)[:, labels], shape (N, labels), float32: V diag(1/(σ+λ)) Q, or Xᵀ U diag(1/(σ+λ)) Q in the dual.

        Ask for blocks of labels (`label_blocks`): the whole is seldom worth its memory. Where the mean of the features
        is 100 times their spread, scores by way of W lose two digits more to rounding than `scores` does. What is below
        float32's range, at a λ of 1e46 say, is 0. Raises DataError for a λ that is not above 0 and unknown labels.
        """
        shrink = 1 / (self.eigenvalues + check_reg_lambda(reg_lambda))
        labels = as_part(labels, self.n_labels, "labels")
        Q = self.Q[:, labels] if self.Q is not None else self._label_coefficients(labels)
        if self.form == "primal":
            scaled = np.multiply(shrink[:, None], Q, out=np.empty(Q.shape, np.float32))  # in float64, never held whole
            return self.eigenvectors @ scaled  # 1/σ leaves no large direction
        return products.multiply_transposed(self.X_train, self._combined(shrink[:, None] * Q))

    def votes(self, P: np.ndarray, reg_lambda: float) -> np.ndarray:
        """a(x): the vote that each training instance casts for all of its labels, shape (rows, D), float64.

        The scores are linear in Y: s_l(x) = Σ_i a_i(x) y_il with a(x) = X(G+λI)⁻¹x = X V diag(1/(σ+λ)) p in the
        primal, (K+λI)⁻¹Xx = U diag(1/(σ+λ)) p in the dual, p being x's row of P. With weighting, label l's sum is
        θ_l times that. `P` may be one row, shape (r',), or several. Raises DataError as `scores` does.
        """
        shrink = 1 / (self.eigenvalues + check_reg_lambda(reg_lambda))
        P = as_array(P, "P")
        rows = check_projection(P[None] if P.ndim == 1 else P, shrink.size)
        back = self._combined((rows * shrink).T)
        if self.form == "primal":
            back = products.multiply(self.X_train, back, np.float64)
        return back.T if P.ndim == 2 else back[:, 0]

    def leave_one_out_scores(self, reg_lambda: float, *, rows: Rows = slice(None)) -> np.ndarray:
        """What each of the given training rows would score in a model trained without it, (rows, L), float32.

        For many rows or λ, `leaveout.held_out_scores` gives blocks; its module has the formula and how it rounds.
        Raises DataError as it does.
        """
        return leaveout.scores_left_out(self, reg_lambda, None, rows)

    def leave_group_out_scores(self, reg_lambda: float, groups: np.ndarray, *, rows: Rows = slice(None)) -> np.ndarray:
        """The same from models trained without each row's whole family; `groups` has D entries; errors as there."""
        return leaveout.scores_left_out(self, reg_lambda, groups, rows)

    @property
    def smallest_reliable_lambda(self) -> float:
        """Below this λ, rounding may show in the ranking: warn (see `eigen.smallest_reliable_lambda`)."""
        return eigen.smallest_reliable_lambda(self.eigenvalues, self.size, self.leading.shape[1])

    def arrays(self) -> dict[str, np.ndarray]:
        """All but the training data as plain arrays without pickled objects, for a file or a memory map."""
        arrays = {
            "shape": np.array([self.n_train, self.n_features, self.n_labels]),
            "form": np.array(self.form),
            "precision": np.array(self.precision),
            "eigenvalues": self.eigenvalues,
            "eigenvectors": self.eigenvectors,
            "leading": self.leading,
            "seconds": np.array([self.seconds["gram"], self.seconds["eigh"]]),
        }
        optional = {"null": self.null, "Q": self.Q}
        return arrays | {name: array for name, array in optional.items() if array is not None}

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, np.ndarray], X: Features, Y: sparse.csr_array, *, memory_budget: int | None = None
    ) -> RidgeFactorization:
        """The factorisation whose `arrays()` were kept, with the training data that it was fitted to.

        Raises DataError where an array is missing or does not fit the others, or X and Y have other shapes.
        """
        X, Y = check_training(X, Y)
        missing = {"shape", "form", "precision", "eigenvalues", "eigenvectors", "leading", "seconds"} - set(arrays)
        if missing:
            raise DataError(f"arrays lacks {sorted(missing)}; expected what RidgeFactorization.arrays gives")
        given = (n_rows(X), n_columns(X), Y.shape[1])
        if tuple(arrays["shape"]) != given:
            raise DataError(f"arrays are of D, N, L = {tuple(map(int, arrays['shape']))}; X and Y have {given}")
        rank, size = np.size(arrays["eigenvalues"]), given[1] if str(arrays["form"]) == "primal" else given[0]
        leading, null = (np.shape(arrays.get(name, ()))[1:] for name in ("leading", "null"))
        shapes = {
            "eigenvalues": (rank,),
            "eigenvectors": (size, rank),
            "Q": (rank, given[2]),
            "leading": (size, *leading),
            "null": (size, *null),
            "seconds": (2,),
        }
        for name, shape in shapes.items():
            if name in arrays and arrays[name].shape != shape:
                raise DataError(f"arrays has {name} of shape {arrays[name].shape}; expected {shape}")
        return cls(
            form=str(arrays["form"]),
            precision=str(arrays["precision"]),
            eigenvalues=arrays["eigenvalues"],
            eigenvectors=arrays["eigenvectors"],
            leading=arrays["leading"],
            null=arrays.get("null"),
            Q=arrays.get("Q"),
            X_train=X,
            Y_train=Y,
            memory_budget=as_memory_budget(memory_budget),
            seconds=dict(zip(("gram", "eigh"), map(float, arrays["seconds"]), strict=True)),
        )
